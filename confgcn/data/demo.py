"""The built-in graph: the LINQS Cora papers, with paper ids and class names. Provenance: ``docs/data.md``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from confgcn.data.formats.array_files import read_npz
from confgcn.data.splits import planetoid_split
from confgcn.graph import Graph

FILE = Path(__file__).parent / "files" / "demo.npz"
SPLIT_SEED = 0  # the split is part of the graph, like planetoid's public ones


def load_demo() -> Graph:
    """2,708 papers, 5,278 citation links, 1,433 words, 7 classes; 20 labels per class, 500 and 1,000 nodes."""
    arrays = read_npz(FILE)
    indices, indptr = arrays["word_indices"], arrays["word_indptr"]
    shape = (len(arrays["paper_ids"]), int(arrays["num_words"]))
    words = sp.csr_matrix((np.ones(len(indices), dtype=np.float32), indices.astype(np.int32), indptr), shape=shape)
    graph = Graph.build(
        arrays["edges"].astype(np.int64),
        words,
        arrays["labels"].astype(np.int64),
        node_names=[str(paper) for paper in arrays["paper_ids"]],
        class_names=[str(name) for name in arrays["class_names"]],
        name="demo",
    )
    return planetoid_split(graph, seed=SPLIT_SEED)
