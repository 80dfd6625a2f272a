"""Follow the instructions of a pickle that build plain values, and refuse the others: there is no unpickler here.

What a pickle names is looked up in a table of stand-ins and nowhere else, so that nothing is imported or called that is
not in it.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from confgcn.exceptions import UnsafeFileError

MOST_LETTERS = 200  # of a name that a message shows

StandIns = Mapping[tuple[str, str], Callable[..., Any]]


@runtime_checkable
class Record(Protocol):
    """A stand-in for an object, which is given its attributes after it was made."""

    def fill(self, state: Any) -> None:
        """Remember these attributes."""


def read_values(content: bytes, stand_ins: StandIns) -> Any:
    """The value that a pickle builds, with ``stand_ins`` for what it names; a damaged one raises anything."""
    stack = _Stack(stand_ins)
    for instruction, argument, _ in pickletools.genops(content):
        stack.follow(instruction.name, argument)
    return stack.values.pop()


def _refused(kind: str, name: str) -> UnsafeFileError:
    return UnsafeFileError(f"refused the {kind} {name[:MOST_LETTERS]}: a data file has no use for it")


class _Stack:
    """What a pickle has built so far."""

    def __init__(self, stand_ins: StandIns) -> None:
        self.stand_ins = stand_ins
        self.values: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def follow(self, name: str, argument: Any) -> None:
        """One instruction, by the name that pickletools has for it."""
        if name in _PUSHED:
            self.values.append(argument)
        elif name in _MADE:
            self.values.append(_MADE[name]())
        elif name in _STEPS:
            _STEPS[name](self, argument)
        else:
            raise _refused("instruction", name if argument is None else f"{name} {argument}")

    def take(self, count: int) -> list[Any]:
        start = len(self.values) - count
        if start < (self.marks[-1] if self.marks else 0):
            raise ValueError("an instruction finds too few values")
        taken = self.values[start:]
        del self.values[start:]
        return taken

    def take_marked(self) -> list[Any]:
        return self.take(len(self.values) - self.marks.pop())

    def extend(self, items: list[Any]) -> None:
        if not isinstance(self.values[-1], list):
            raise ValueError("items are added to what is no list")
        self.values[-1].extend(items)

    def set_items(self, items: list[Any]) -> None:
        target, keys = self.values[-1], items[::2]
        # A few bytes can build a tuple of tuples that takes for ever to hash.
        if not isinstance(target, dict) or not all(isinstance(key, int | str) for key in keys):
            raise ValueError("expected a dictionary whose keys are numbers or texts")
        target.update(zip(keys, items[1::2], strict=True))

    def name(self, module: Any, name: Any) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            raise ValueError("a global is named by what is no text")
        if (module, name) not in self.stand_ins:
            raise _refused("global", f"{module}.{name}")
        self.values.append(self.stand_ins[module, name])

    def make(self) -> None:
        made, arguments = self.take(2)
        if not any(made is stand_in for stand_in in self.stand_ins.values()) or not isinstance(arguments, tuple):
            raise ValueError("something is called that cannot be")
        self.values.append(made(*arguments))

    def fill(self) -> None:
        (state,) = self.take(1)
        record = self.values[-1]
        if isinstance(record, type) or not isinstance(record, Record):
            raise ValueError("attributes are given to what takes none")
        record.fill(state)


def _remember(stack: _Stack, place: int) -> None:
    stack.memo[place] = stack.values[-1]


def _recall(stack: _Stack, place: int) -> None:
    stack.values.append(stack.memo[place])


def _make_dictionary(stack: _Stack, _: Any) -> None:
    items = stack.take_marked()
    stack.values.append({})
    stack.set_items(items)


def _do_nothing(stack: _Stack, _: Any) -> None:
    pass


_NUMBERS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "FLOAT", "BINFLOAT", "NONE"}
_TEXTS = {"STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE"}
_BYTES = {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}
_PUSHED = _NUMBERS | _TEXTS | _BYTES
_MADE: dict[str, Callable[[], Any]] = {
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
}
_STEPS: dict[str, Callable[[_Stack, Any], Any]] = {
    "MARK": lambda stack, _: stack.marks.append(len(stack.values)),
    "TUPLE": lambda stack, _: stack.values.append(tuple(stack.take_marked())),
    "TUPLE1": lambda stack, _: stack.values.append(tuple(stack.take(1))),
    "TUPLE2": lambda stack, _: stack.values.append(tuple(stack.take(2))),
    "TUPLE3": lambda stack, _: stack.values.append(tuple(stack.take(3))),
    "LIST": lambda stack, _: stack.values.append(stack.take_marked()),
    "DICT": _make_dictionary,
    "APPEND": lambda stack, _: stack.extend(stack.take(1)),
    "APPENDS": lambda stack, _: stack.extend(stack.take_marked()),
    "SETITEM": lambda stack, _: stack.set_items(stack.take(2)),
    "SETITEMS": lambda stack, _: stack.set_items(stack.take_marked()),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _remember),
    "MEMOIZE": lambda stack, _: _remember(stack, len(stack.memo)),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _recall),
    "GLOBAL": lambda stack, argument: stack.name(*argument.split(" ", 1)),
    "STACK_GLOBAL": lambda stack, _: stack.name(*stack.take(2)),
    **dict.fromkeys(("REDUCE", "NEWOBJ"), lambda stack, _: stack.make()),
    "BUILD": lambda stack, _: stack.fill(),
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), _do_nothing),
}
