"""The names that ``confgcn`` promises are there, and no others."""

from __future__ import annotations

import subprocess
import sys

import pytest

import confgcn


def test_every_promised_name_can_be_had() -> None:
    assert len(set(confgcn.__all__)) == len(confgcn.__all__)
    assert set(dir(confgcn)) == set(confgcn.__all__)
    for name in confgcn.__all__:
        assert getattr(confgcn, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = confgcn.nonsense


def test_import_is_light() -> None:
    check = "import sys, confgcn; sys.exit('torch' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0
