"""Which kernels are used: the compiled ones where they are, unless another choice is made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from confgcn import kernels
from confgcn.exceptions import ResourceError, UsageError
from confgcn.kernels import compiled, library, pure

needs_compiled = pytest.mark.skipif(not library.available(), reason=library.why_not())


@pytest.fixture
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(kernels, "_chosen", None)
    monkeypatch.delenv("CONFGCN_KERNELS", raising=False)


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch, nothing_chosen: None) -> None:
    """As where there was no compiler."""
    monkeypatch.setattr(library, "library", lambda: None)


@pytest.mark.parametrize("name", ["pure", pytest.param("compiled", marks=needs_compiled)])
def test_the_environment_chooses(name: str) -> None:
    code = "from confgcn import kernels; print(kernels.active_name())"
    environment = {**os.environ, "CONFGCN_KERNELS": name}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (result.stdout, result.stderr) == (f"{name}\n", "")


def test_a_wrong_choice_is_answered_with_the_right_ones(monkeypatch: pytest.MonkeyPatch, nothing_chosen: None) -> None:
    monkeypatch.setenv("CONFGCN_KERNELS", "compild")
    with pytest.raises(UsageError, match=r"CONFGCN_KERNELS 'compild'.*'compiled'.*compiled, pure"):
        kernels.active()


@needs_compiled
def test_compiled_ones_are_used_where_they_are(nothing_chosen: None) -> None:
    assert kernels.active() is compiled
    assert kernels.active_name() == "compiled"
    assert library.instructions() in ("avx2", "baseline")


def test_pure_ones_are_used_where_there_are_no_others(no_library: None) -> None:
    assert kernels.active() is pure
    assert kernels.active_name() == "pure"


def test_asking_for_what_is_not_there_is_an_error(no_library: None) -> None:
    with pytest.raises(ResourceError, match=r"no compiled kernels.*compiler"), kernels.using("compiled"):
        pass
    assert kernels.active() is pure


@needs_compiled
def test_a_choice_ends_with_its_block(nothing_chosen: None) -> None:
    with kernels.using("compiled"):
        with kernels.using("pure"):
            assert kernels.active() is pure
        assert kernels.active() is compiled


@needs_compiled
def test_a_choice_ends_with_its_block_after_an_error(nothing_chosen: None) -> None:
    def fail() -> None:
        with kernels.using("pure"):
            raise KeyError

    with kernels.using("compiled"):
        with pytest.raises(KeyError):
            fail()
        assert kernels.active() is compiled


@needs_compiled
def test_a_library_of_another_interface_is_not_called(monkeypatch: pytest.MonkeyPatch, nothing_chosen: None) -> None:
    monkeypatch.setattr(library, "INTERFACE", library.INTERFACE + 1)
    monkeypatch.setattr(library, "library", library.library.__wrapped__)
    assert not library.available()
    assert kernels.active() is pure


def test_a_file_that_is_no_library_is_not_called(tmp_path: Path) -> None:
    (tmp_path / "library.so").write_bytes(b"not a library")
    assert library._opened(tmp_path / "library.so") is None


@needs_compiled
def test_a_library_built_from_other_sources_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    path = next(Path(library.__file__).parent.glob("_compiled*.so"))
    assert library._opened(path) is not None
    monkeypatch.setattr(library, "INTERFACE", library.INTERFACE + 1)
    assert library._opened(path) is None


def test_without_a_file_there_is_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "EXTENSION_SUFFIXES", [".nowhere"])
    assert library.library.__wrapped__() is None
