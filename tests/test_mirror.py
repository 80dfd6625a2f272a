"""Every module has a test file at the mirrored path."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    path.relative_to(ROOT / "confgcn") for path in (ROOT / "confgcn").rglob("*.py") if path.name != "__init__.py"
)
WITHOUT = {
    "__main__.py": "starts the command line; tests/cli/test_train.py runs it as a program",
    "limits.py": "holds numbers only; the options that they limit are tested",
    "graph/shard.py": "holds the fields of a record only; tests/distributed/test_shards.py checks them",
}


def mirrored(module: Path) -> Path:
    return ROOT / "tests" / module.parent / f"test_{module.name}"


@pytest.mark.parametrize("module", [path for path in MODULES if str(path) not in WITHOUT], ids=str)
def test_a_module_has_a_test_file(module: Path) -> None:
    assert mirrored(module).is_file()


def test_the_exceptions_exist_and_have_no_test_file() -> None:
    for name in WITHOUT:
        assert Path(name) in MODULES
        assert not mirrored(Path(name)).exists()
