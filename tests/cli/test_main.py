"""Every error becomes one message and one exit code; a bug keeps its traceback."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from confgcn import __version__
from confgcn.cli import main as module
from confgcn.exceptions import BusyError, DataError, StoppedError, UsageError

Command = Callable[..., "subprocess.CompletedProcess[str]"]


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


def test_version(command: Command) -> None:
    assert command("--version").stdout == f"confgcn {__version__}\n"


def test_help_is_quick_and_does_not_import_torch() -> None:
    code = "import sys; sys.argv = ['confgcn', '--help']\nfrom confgcn.cli.main import main\n"
    code += "try: main()\nexcept SystemExit: sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0  # seconds; torch alone takes two


def test_debug_shows_the_traceback_and_exits_like_the_command_without(command: Command) -> None:
    result = command("--debug", "train", "coar")
    assert "Traceback" in result.stderr
    assert result.returncode == command("train", "coar").returncode == 2


def test_control_codes_never_reach_the_terminal(command: Command) -> None:
    assert "\x1b" not in command("train", "\x1b[2Jcora").stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("train", "coar"), 2, "did you mean 'cora'"),
        (("train", "demo", "--method", "gnc"), 2, "did you mean 'gcn'"),
        (("train", "demo", "--preset", "papers"), 2, "did you mean 'paper'"),
        (("train", "demo", "--sed", "1"), 2, "--seed"),
        (("trian", "demo"), 2, "train"),
        (("train", "demo", "--epochs", "0"), 2, "epochs = 0"),
        (("train", "demo", "--epochs", "many"), 2, "epochs"),
        (("train", "demo", "--seed", "-1"), 2, "seed"),
        (("train", "demo", "--seed", str(2**64)), 2, "seed"),
        (("train", "demo", "--seed", "x"), 2, "seed"),
        (("train", "demo", "--seeds", "0"), 2, "seeds"),
        (("train", "demo", "--set", "dropout=1.0"), 2, "less than 1"),
        (("train", "demo", "--set", "dropout"), 2, "NAME=VALUE"),
        (("train", "demo", "--set", "learning_rate=nan"), 2, "learning_rate"),
        (("train", "demo", "--set", "learnin_rate=1"), 2, "did you mean 'learning_rate'"),
        (("train", "demo", "--set", "influence=$(touch x)"), 2, "influence"),
        (("train", "demo", "--settings", "none.toml"), 4, "none.toml"),
        (("train", "demo", "--resume"), 2, "--out"),
        (("train", "demo", "--resume", "--out", "nothing"), 2, "nothing to resume"),
        (("train", "demo", "--resume", "--overwrite", "--out", "x"), 2, "contradict"),
        (("train", "cora", "--data-dir", "nowhere"), 4, "nowhere"),
        (("train",), 2, "no graph"),
        (("inspect", "demo", "--edges", "nope.csv"), 2, "demo is a data set"),
        (("predict", "nowhere", "--features", "f.npy"), 2, "--features needs --edges"),
        (("predict", "nowhere"), 2, "nothing new to predict"),
        (("train", "coar"), 2, "nor is there a file or folder /"),
        (("train", "./nowhere"), 4, "nowhere"),
        (("train", "demo", "--label", "x"), 2, "demo is a data set"),
        (("inspect", "--edges", "e.csv", "--nodes", "n.csv", "--test", "1.5"), 2, "share"),
        (("train", "--edges", "e.csv", "--add-features", "degre"), 2, "did you mean 'degree'"),
        (("predict", "nowhere", "--nodes", "n.csv"), 2, "--nodes needs --edges"),
        (("report", "nowhere"), 4, "holds no finished run"),
        (("inspect", "coar"), 2, "did you mean 'cora'"),
    ],
)
def test_an_error_has_its_code_names_its_cause_and_leaves_nothing(
    command: Command,
    tmp_path: Path,
    words: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    result = command(*words)
    assert (result.returncode, result.stdout) == (code, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []
