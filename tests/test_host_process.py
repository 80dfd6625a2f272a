"""The library inside somebody else's program changes nothing that outlives a call."""

from __future__ import annotations

import platform
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from confgcn import ConfGCNClassifier, RunRequest, load_run, train
from confgcn.data.synthetic import block_model

GRAPH = block_model(80, seed=1)
SETTINGS = {"epochs": 3}


def write_run(folder: Path) -> None:
    train(RunRequest(GRAPH, overrides=SETTINGS, out=folder / "run"), notify=lambda _: None)


def fit(folder: Path) -> None:
    ConfGCNClassifier(settings=SETTINGS).fit(GRAPH, notify=lambda _: None).predict_proba()


def read_run(folder: Path) -> None:
    write_run(folder)
    _ = load_run(folder / "run", graph=GRAPH).probabilities


def state_of_process() -> dict[str, Any]:
    name, keys, *rest = np.random.get_state()
    return {
        "signal handlers": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
        "torch's random state": torch.get_rng_state().tolist(),
        "numpy's random state": (name, keys.tolist(), rest),
        "Python's random state": random.getstate(),
        "threads": torch.get_num_threads(),
        "warnings": list(warnings.filters),
        "default dtype": torch.get_default_dtype(),
        "gradients": torch.is_grad_enabled(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
    }


@pytest.mark.parametrize("call", [write_run, fit, read_run])
def test_the_state_of_the_process_is_as_it_was(call: Callable[[Path], None], tmp_path: Path) -> None:
    pytest.importorskip("sympy")  # which torch imports late, and which adds a filter of its own to the warnings
    torch.set_num_threads(2)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        before = state_of_process()
        call(tmp_path)
        after = state_of_process()
    finally:
        torch.set_num_threads(1)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for name, state in before.items():
        assert after[name] == state, name


MEMORY_AFTER_TRAINING = """
import os
import sys
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[1]).parent))
import numpy as np
from test_host_process import fit, read_run, write_run

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

locals()[sys.argv[2]](Path(sys.argv[3]))
before = resident()
first, second = np.ones(25_000_000), np.ones(500_000)  # 200 MB, and 4 MB above it
del first
print((resident() - before) // 10**6)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
@pytest.mark.parametrize("call", ["write_run", "fit", "read_run"])
def test_memory_that_is_freed_after_a_call_goes_back_to_the_system(call: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", MEMORY_AFTER_TRAINING, __file__, call, str(tmp_path)]
    kept = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert int(kept) < 20
