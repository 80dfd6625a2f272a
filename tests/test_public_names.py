"""The names that ``confgcn`` promises are there, and no others."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import confgcn


def test_every_promised_name_can_be_had() -> None:
    assert len(set(confgcn.__all__)) == len(confgcn.__all__)
    assert set(dir(confgcn)) == set(confgcn.__all__)
    for name in confgcn.__all__:
        assert getattr(confgcn, name) is not None


def test_every_name_is_listed_for_type_checkers_and_for_the_lazy_import() -> None:
    tree = ast.parse(Path(confgcn.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    checked = {alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert checked == set(confgcn._MODULES) == set(confgcn.__all__) - {"__version__"}
    for name, module in confgcn._MODULES.items():
        assert getattr(import_module(module), name) is getattr(confgcn, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = confgcn.nonsense


def test_import_is_light() -> None:
    check = "import sys, confgcn; sys.exit('torch' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0
