"""Build the demo graph from the LINQS Cora files ``cora.content`` and ``cora.cites``.

    python tools/build_demo.py FOLDER_WITH_THE_TWO_FILES [OUTPUT]

Papers are sorted by id and citations by their ends, so the order of lines in the files changes no byte of the
output. ``docs/data.md`` names the origin of the files.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

OUTPUT = Path(__file__).parent.parent / "confgcn" / "data" / "files" / "demo.npz"


def main(folder: Path, output: Path = OUTPUT) -> None:
    """Write the arrays that ``confgcn.data.demo`` reads."""
    papers = sorted(read_papers(folder / "cora.content"))
    position = {paper_id: row for row, (paper_id, _, _) in enumerate(papers)}
    class_names = sorted({label for _, _, label in papers})
    words = [np.flatnonzero(bits) for _, bits, _ in papers]
    edges = sorted((position[citing], position[cited]) for cited, citing in read_citations(folder / "cora.cites"))
    np.savez_compressed(
        output,
        paper_ids=np.array([paper_id for paper_id, _, _ in papers], dtype=np.int32),
        class_names=np.array(class_names),
        labels=np.array([class_names.index(label) for _, _, label in papers], dtype=np.uint8),
        edges=np.array(edges, dtype=np.uint16),
        word_indices=np.concatenate(words).astype(np.uint16),
        word_indptr=np.concatenate([[0], np.cumsum([len(w) for w in words])]).astype(np.int32),
        num_words=np.array(len(papers[0][1]), dtype=np.int32),
    )


def read_papers(path: Path) -> list[tuple[int, tuple[int, ...], str]]:
    """Id, word bits and class of every paper."""
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return [(int(row[0]), tuple(map(int, row[1:-1])), row[-1]) for row in rows]


def read_citations(path: Path) -> list[tuple[int, int]]:
    """Cited and citing paper of every citation."""
    return [(int(cited), int(citing)) for cited, citing in (line.split() for line in path.read_text().splitlines())]


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(Path, sys.argv[2:]))
