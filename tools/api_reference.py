"""Write docs/api.md, the reference of the public interface, from signatures, docstrings and the command line.

    python tools/api_reference.py

The same code gives the same bytes on every machine; ``tests/test_api_reference.py`` says when to write it again.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer

from confgcn import exceptions
from confgcn.cli.main import app, options
from confgcn.models import ranges

OUTPUT = Path(__file__).parent.parent / "docs" / "api.md"
WIDTH = 100  # of a signature on one line
INTRODUCTION = """# API reference

Written by `python tools/api_reference.py` from docstrings and the command line. Shapes are given in letters: N nodes,
E edges, F features, C classes. The names at the top of `confgcn` are the public interface; the others are parts of it
that are of use by hand.
"""
SECTIONS = {
    "Train and predict": """
        confgcn.ConfGCNClassifier confgcn.estimator.LabelConfidence confgcn.estimator.Accepted
        confgcn.RunRequest confgcn.train confgcn.load_run confgcn.runs.saved.SavedRun
        confgcn.runs.saved.Judged confgcn.runs.saved.graph_of
        confgcn.runs.finished_run.FinishedRun confgcn.runs.new_nodes.predict_new_nodes
        confgcn.runs.new_nodes.ExtendedRun confgcn.data.extension.Extension
        confgcn.runs.report.write_report confgcn.__version__""",
    "Graphs": """
        confgcn.load_graph confgcn.Graph confgcn.data.formats.converters.raw_graph confgcn.data.raw.RawGraph
        confgcn.data.formats.graph_store.open_store confgcn.data.formats.store_check.check_store
        confgcn.data.formats.exports.to_networkx confgcn.data.formats.exports.to_pyg""",
    "What to make of a prediction": """
        confgcn.confidence.assessment.assess confgcn.confidence.assessment.Assessment
        confgcn.confidence.calibration.fit_calibration confgcn.confidence.calibration.Calibration
        confgcn.confidence.prediction_sets.PredictionSets confgcn.confidence.decisions.decide
        confgcn.confidence.decisions.Decision confgcn.confidence.reasons.explain
        confgcn.confidence.reasons.Explanation confgcn.confidence.reasons.Reason
        confgcn.confidence.suspicion.SuspiciousLabels confgcn.confidence.suspicion.SuspiciousEdges""",
    "Methods": """
        confgcn.ConfGCN confgcn.GCN confgcn.models.base.Shape confgcn.models.base.Prediction
        confgcn.models.base.AbstractMethod
        confgcn.models.base.LossTerm""",
    "PyTorch Geometric": "confgcn.nn.ConfGCN",
}
KINDS = {int: "whole number", float: "number", str: "text", Path: "path"}


def main() -> None:
    """Write the page."""
    OUTPUT.write_text(reference())


def reference() -> str:
    """The page."""
    parts = [INTRODUCTION]
    for heading, names in SECTIONS.items():
        parts += [f"## {heading}\n", *map(_entry, names.split())]
    parts += ["## Ranges of hyperparameters\n", markdown(ranges), _code(_assignments(ranges))]
    parts += ["## Exceptions\n", markdown(exceptions), "## Command line\n", *_commands()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))


def _entry(name: str) -> str:
    """A function, or a class with its methods and properties."""
    module, _, last = name.rpartition(".")
    if last == "__version__":
        return f"### `{name}`\n\nThe version, a text.\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of other libraries, as they are imported
        found = getattr(import_module(module), last)
    called = "" if inspect.isabstract(found) else _code(signature(last, found))
    members = _members(found) if inspect.isclass(found) else {}
    shown = [_member(f"{last}.{member}", value) for member, value in members.items()]
    return "\n".join([f"### `{name}`\n", called, markdown(found), *shown])


def _members(owner: type) -> dict[str, Any]:
    """What a class has of its own, unless all that is to be said of it stands at the base."""
    bases = [base for base in owner.__mro__[1:] if base.__module__.startswith("confgcn")]
    own = {name: member for name, member in vars(owner).items() if not name.startswith("_")}
    return {name: member for name, member in own.items() if member.__doc__ or not any(name in vars(b) for b in bases)}


def _member(name: str, member: Any) -> str:
    """A method or property; fields are in the signature of the class."""
    getter = getattr(member, "fget", getattr(member, "func", None))
    if isinstance(member, property | cached_property) and getter is not None:
        line = f"{name}: {_annotation(inspect.signature(getter).return_annotation, getter)}"
    elif inspect.isfunction(member) or isinstance(member, classmethod):
        line = signature(name, member.__get__(None, object) if isinstance(member, classmethod) else member)
    else:
        return ""
    return "\n".join([f"#### `{name}`\n", _code(line), markdown(member)])


def signature(name: str, called: Callable[..., Any]) -> str:
    """How it is called, on one line or with a line per parameter."""
    found = inspect.signature(called)
    shown = list(_parameters(found, called))
    returned = "" if inspect.isclass(called) else f" -> {_annotation(found.return_annotation, called)}"
    line = f"{name}({', '.join(shown)}){returned}"
    return line if len(line) <= WIDTH else "\n".join([f"{name}(", *(f"    {part}," for part in shown), f"){returned}"])


def _parameters(found: inspect.Signature, called: Any) -> Iterator[str]:
    starred = False
    for parameter in found.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        bare = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
        default = repr(parameter.default).replace("<factory>", "...")  # made anew for every object
        has_default = parameter.default is not parameter.empty
        yield f"{bare}: {_annotation(parameter.annotation, called)}" + (f" = {default}" if has_default else "")


def _annotation(annotation: Any, called: Any) -> str:
    """As it is written in the source, with choices and functions spelled out."""
    names = vars(sys.modules[called.__module__])

    def spelled(word: re.Match[str]) -> str:
        meant = names.get(word[0])
        is_alias = get_origin(meant) in (Literal, Callable)
        return re.sub(r"^[\w.]*\.", "", repr(meant)) if is_alias else word[0]

    return re.sub(r"\b\w+\b", spelled, getattr(annotation, "__forward_arg__", str(annotation)))


def markdown(documented: Any) -> str:
    """The docstring of something."""
    paragraphs = re.split(r"\n\n(?! )", inspect.cleandoc(documented.__doc__ or ""))
    return "\n".join(map(_paragraph, filter(None, paragraphs)))


def _paragraph(text: str) -> str:
    first, _, rest = text.partition("\n")
    block = textwrap.dedent(rest).strip("\n")
    if first in ("Args:", "Attributes:", "Shapes:"):
        items = [" ".join(item.split()).partition(": ") for item in re.split(r"\n(?! )", block)]
        return f"{first}\n\n" + "".join(f"- `{names.replace(', ', '`, `')}`: {_inline(t)}\n" for names, _, t in items)
    if first.startswith(".. math::"):
        return _code(first.removeprefix(".. math::").strip() + block, "math")
    return _code(block, "text") if first == "::" else f"{_inline(text)}\n"


def _inline(text: str) -> str:
    text = re.sub(r":math:`([^`]*)`", r"$`\1`$", text)
    text = re.sub(r":\w+:`(?:~[\w.]*\.)?([^`]*)`", r"`\1`", text)
    return text.replace("``", "`")


def _code(text: str, language: str = "python") -> str:
    return f"```{language}\n{text}\n```\n"


def _assignments(module: Any) -> str:
    return "\n".join(line for line in inspect.getsource(module).splitlines() if " = " in line)


def _commands() -> Iterator[str]:
    """Every command with its help, arguments and options."""
    group: Any = typer.main.get_command(app)
    callbacks: dict[str | None, Any] = {info.name: info.callback for info in app.registered_commands}
    own = get_type_hints(options, include_extras=True)
    yield f"{group.help} Before the command may stand:\n"
    yield _table([option for option in group.params if option.name in own], own)
    for name, command in group.commands.items():
        hints = get_type_hints(callbacks[name], include_extras=True)
        example = re.sub(r": (confgcn .*)$", r": `\1`", command.help, flags=re.MULTILINE)
        yield f"### `confgcn {name}`\n\n{example}\n"
        for panel in dict.fromkeys(option.rich_help_panel for option in command.params):
            yield f"{panel}:\n" if panel else ""
            yield _table([option for option in command.params if option.rich_help_panel == panel], hints)


def _table(parameters: list[Any], hints: dict[str, Any]) -> str:
    lines = ["| | value | default | |", "|---|---|---|---|"]
    for option in parameters:
        name = option.name.upper() if option.param_type_name == "argument" else ", ".join(option.opts)
        default = "" if option.default is None or option.default is False else f"`{option.default}`"
        kind = f"`{option.metavar}`" if option.metavar else _kind(hints[option.name])
        kind += ", may be repeated" if option.multiple or option.nargs < 0 else ""
        lines.append(f"| `{name}` | {kind} | {'required' if option.required else default} | {option.help} |")
    return "\n".join(lines) + "\n"


def _kind(hint: Any) -> str:
    """What an option takes, in words; a switch takes nothing."""
    kind, told = get_args(hint)[:2]
    kind = next(iter(get_args(kind)), kind) if type(None) in get_args(kind) else kind
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    kind = get_args(kind)[0] if get_origin(kind) is list else kind
    return KINDS.get(kind, "") + ("" if told.max is None else f", {told.min:,} to {told.max:,}")


if __name__ == "__main__":
    main()
