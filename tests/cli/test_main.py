"""Every error becomes one message and one exit code; a bug keeps its traceback."""

from __future__ import annotations

import sys

import pytest

from confgcn.cli import main as module
from confgcn.exceptions import BusyError, DataError, StoppedError, UsageError


def ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException) -> tuple[int, str]:
    """The exit code and stderr of a command that raises the error."""

    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(module, "app", fail)
    monkeypatch.setattr(module.signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["confgcn", "train"])
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(SystemExit) as end:
        module.main()
    return end.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UsageError("no such option"), 2, "error: no such option\n"),
        (DataError("no edges"), 3, "error: no edges\n"),
        (BusyError("run: in use"), 7, "error: run: in use\n"),
        (StoppedError("stopped by SIGTERM", 15), 143, "error: stopped by SIGTERM\n"),
        (FileNotFoundError(2, "No such file or directory", "/x"), 4, "error: /x: No such file or directory\n"),
        (RuntimeError("can't start new thread"), 4, "error: can't start new thread\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_is_one_line_and_one_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, code: int, message: str
) -> None:
    assert ended(monkeypatch, capsys, error) == (code, message)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("[enforce fail] . can't allocate memory: 1234 bytes")])
def test_too_little_memory_is_reported_with_what_is_available(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    code, message = ended(monkeypatch, capsys, error)
    assert code == 4
    assert "not enough memory for this graph and these settings" in message
    assert "are available" in message
    assert ("1,234 bytes more were needed" in message) is isinstance(error, RuntimeError)


def test_a_bug_is_not_disguised(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="shapes"):
        ended(monkeypatch, capsys, RuntimeError("shapes do not match"))
