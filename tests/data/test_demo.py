"""The built-in graph, and the tool that made it."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from confgcn.data.demo import FILE, load_demo
from confgcn.data.formats.array_files import read_npz

TOOL = Path(__file__).parents[2] / "tools" / "build_demo.py"
CONTENT = ["30\t0\t1\t0\tTheory", "4\t1\t1\t0\tRule_Learning", "500\t0\t0\t0\tTheory", "7\t0\t0\t1\tCase_Based"]
CITES = ["4\t30", "500\t4", "4\t7"]

demo = cache(load_demo)


@pytest.fixture(scope="module")
def build_demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_demo", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(tool: ModuleType, folder: Path, content: list[str], cites: list[str]) -> Path:
    folder.mkdir()
    (folder / "cora.content").write_text("".join(f"{line}\n" for line in content))
    (folder / "cora.cites").write_text("".join(f"{line}\n" for line in cites))
    tool.main(folder, folder / "demo.npz")
    return folder / "demo.npz"


def test_demo_has_the_published_counts() -> None:
    assert (demo().num_nodes, demo().num_features, demo().num_classes) == (2708, 1433, 7)
    assert demo().edge_counts.unique == 5278
    assert (len(demo().train), len(demo().validation), len(demo().test)) == (140, 500, 1000)
    assert demo().labels[demo().train].bincount().tolist() == [20] * 7


def test_demo_has_class_names() -> None:
    assert demo().class_names == (
        "Case_Based",
        "Genetic_Algorithms",
        "Neural_Networks",
        "Probabilistic_Methods",
        "Reinforcement_Learning",
        "Rule_Learning",
        "Theory",
    )


def test_demo_has_paper_ids_in_order() -> None:
    ids = [int(name) for name in demo().node_names]
    assert ids == sorted(set(ids))
    assert ids[0] == 35


@pytest.mark.parametrize(
    ("paper", "label"),
    [("35", "Genetic_Algorithms"), ("31336", "Neural_Networks"), ("1061127", "Rule_Learning")],
)
def test_demo_papers_have_their_published_class(paper: str, label: str) -> None:
    node = demo().node_names.index(paper)
    assert demo().class_names[demo().labels[node]] == label


def test_the_most_connected_paper_is_35_with_168_neighbours() -> None:
    assert demo().node_names[demo().degrees.argmax()] == "35"
    assert demo().degrees.max() == 168


def test_demo_is_the_same_every_time() -> None:
    assert load_demo().fingerprint == demo().fingerprint


def test_demo_file_is_small() -> None:
    assert FILE.stat().st_size < 400_000


def test_the_tool_sorts_papers_and_citations(tmp_path: Path, build_demo: ModuleType) -> None:
    arrays = read_npz(built(build_demo, tmp_path / "first", CONTENT, CITES))
    assert arrays["paper_ids"].tolist() == [4, 7, 30, 500]
    assert arrays["class_names"].tolist() == ["Case_Based", "Rule_Learning", "Theory"]
    assert arrays["labels"].tolist() == [1, 0, 2, 2]
    assert arrays["edges"].tolist() == [[0, 3], [1, 0], [2, 0]]
    assert arrays["word_indices"].tolist() == [0, 1, 2, 1]
    assert arrays["word_indptr"].tolist() == [0, 2, 3, 4, 4]
    assert int(arrays["num_words"]) == 3


def test_the_order_of_lines_changes_no_byte(tmp_path: Path, build_demo: ModuleType) -> None:
    first = built(build_demo, tmp_path / "first", CONTENT, CITES)
    shuffled = built(build_demo, tmp_path / "shuffled", [CONTENT[i] for i in (2, 0, 3, 1)], CITES[::-1])
    assert shuffled.read_bytes() == first.read_bytes()


def test_the_tool_writes_what_demo_reads(tmp_path: Path, build_demo: ModuleType) -> None:
    written = read_npz(built(build_demo, tmp_path / "first", CONTENT, CITES))
    shipped = read_npz(FILE)
    assert {key: array.dtype.kind for key, array in written.items()} == {
        key: array.dtype.kind for key, array in shipped.items()
    }
    assert np.all(np.diff(shipped["paper_ids"]) > 0)
