"""The shared library is used if it can be opened and has the right interface."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from confgcn.kernels import library

needs_library = pytest.mark.skipif(not library.available(), reason=library.why_not())


@needs_library
def test_the_instruction_set_is_named() -> None:
    assert library.instructions() in ("avx2", "baseline")


@needs_library
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_every_function_exists_for_every_type(dtype: torch.dtype) -> None:
    for name, arguments in library._ARGUMENTS.items():
        assert len(library.function(name, dtype).argtypes) == len(arguments)


@needs_library
@pytest.mark.parametrize("dtype", [torch.float16, torch.int64, torch.bool], ids=str)
def test_other_types_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match=f"expected float32 or float64, got {dtype}"):
        library.function("sum_rows", dtype)


@needs_library
def test_a_library_with_another_interface_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = library.library()
    assert opened is not None
    monkeypatch.setattr(library, "INTERFACE", library.INTERFACE + 1)
    assert library._opened(Path(opened._name)) is None


def test_a_file_that_is_no_library_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "library.so"
    file.write_bytes(b"no library")
    assert library._opened(file) is None
