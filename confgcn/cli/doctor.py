"""``confgcn doctor``: check the installation."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import typer

from confgcn.cli.console import AsJson, DataDir, one_line, print_json
from confgcn.exceptions import ResourceError

EXTRAS = {  # confgcn[extra]: the package that it installs
    "figures": "matplotlib",
    "partition": "pymetis",
    "pyg": "torch_geometric",
    "tune": "optuna",
}


def doctor(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Check the installation: versions, kernels, data and a training step; exit code 4 if a check fails.

    For example: confgcn doctor
    """
    checks: dict[str, Callable[[], str]] = {
        "python": platform.python_version,
        "torch": _torch,
        "kernels": _kernels,
        "extras": _extras,
        "data": lambda: _data(data_dir),
        "cache folder": _cache,
        "training step": _training_step,
    }
    report: dict[str, Any] = {}
    healthy = True
    for name, check in checks.items():
        try:
            report[name] = {"ok": True, "found": check()}
        except Exception as error:  # every check is reported, whatever fails
            report[name] = {"ok": False, "found": f"{type(error).__name__}: {error}"}
            healthy = False
    if as_json:
        print_json({"healthy": healthy, **report})
    else:
        for name, result in report.items():
            typer.echo(one_line(f"{'ok     ' if result['ok'] else 'FAILED '} {name:<14} {result['found']}"))
    if not healthy:
        raise typer.Exit(ResourceError.exit_code)


def _torch() -> str:
    import torch

    return f"{torch.__version__}, {torch.get_num_threads()} threads"


def _kernels() -> str:
    from confgcn import kernels

    return kernels.describe()


def _extras() -> str:
    states = {extra: "installed" if find_spec(package) else "not installed" for extra, package in EXTRAS.items()}
    return ", ".join(f"{extra} ({state})" for extra, state in states.items())


def _data(data_dir: Any) -> str:
    from confgcn.data.datasets import DATASETS

    places = {name: dataset.where(data_dir) for name, dataset in DATASETS.items()}
    missing = [name for name, place in places.items() if place is None]
    found = ", ".join(name for name in places if name not in missing)
    return f"found {found}" + (f"; downloaded on first use: {', '.join(missing)}" if missing else "")


def _cache() -> str:
    from confgcn.data.downloads import cache_folder

    folder = cache_folder()
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not os.access(existing, os.W_OK):
        raise PermissionError(f"{folder} cannot be written")
    return str(folder)


def _training_step() -> str:
    from confgcn.data.synthetic import block_model
    from confgcn.models.base import Shape
    from confgcn.models.confgcn import ConfGCN
    from confgcn.training.loop import TrainingLoop
    from confgcn.training.recipe import Recipe

    graph = block_model(120)
    loop = TrainingLoop(ConfGCN(Shape.of(graph)), graph, Recipe(epochs=1))
    loop.fit()
    return f"works, loss {loop.history[0]['loss']:.2f}"
