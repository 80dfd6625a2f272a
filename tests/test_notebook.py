"""The notebook of the tutorial runs from its first cell to its last."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"


@pytest.fixture(scope="module")
def notebook() -> nbformat.NotebookNode:
    return nbformat.read(NOTEBOOK, as_version=4)


def test_no_output_is_stored(notebook: nbformat.NotebookNode) -> None:
    assert not [cell for cell in notebook.cells if cell.cell_type == "code" and (cell.outputs or cell.execution_count)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own event loop and sockets
def test_every_cell_runs(notebook: nbformat.NotebookNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    monkeypatch.setenv("PATH", commands)
    executed = nbclient.NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": tmp_path}}).execute()
    text = "\n".join(output.get("text", "") for cell in executed.cells for output in cell.get("outputs", []))
    assert "accept" in text
    assert (tmp_path / "run" / "report.html").is_file()
