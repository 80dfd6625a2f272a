"""The table of named graphs, and the one function that loads any of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from confgcn.data import planetoid
from confgcn.data.citation_npz import read_citation_npz
from confgcn.data.demo import load_demo
from confgcn.data.sources import Source, find, find_or_download
from confgcn.data.splits import random_split
from confgcn.exceptions import DataError, unknown_name
from confgcn.graph import Graph
from confgcn.toml import read_toml

CHECKSUMS = read_toml(Path(__file__).parent / "files" / "checksums.toml")
PLANETOID_URL = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data"
GRAPH2GAUSS_URL = "https://raw.githubusercontent.com/abojchevski/graph2gauss/master/data"
CORA_ML_SPLIT = {"train": 500, "validation": 500, "test": 1000}  # Table 1: |V_l| / |V| = 0.166


@dataclass(frozen=True)
class Dataset:
    """A named graph; without a source it is inside the package."""

    name: str
    description: str
    source: Source | None
    draws_split: bool = False  # no public split: one is drawn with the split seed

    def where(self, data_dir: Path | None = None) -> str | None:
        """The folder the files were found in, or None."""
        if self.source is None:
            return "inside the package"
        folder = find(self.source, data_dir)
        return None if folder is None else str(folder)


def _planetoid(name: str, folder: str, description: str) -> Dataset:
    files = tuple(planetoid.file_names(name))
    return Dataset(name, description, Source(folder, files, PLANETOID_URL, CHECKSUMS[name]))


DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        _planetoid("citeseer", "CiteSeer", "citations, 3,327 papers, public split"),
        _planetoid("cora", "Cora", "citations, 2,708 papers, public split"),
        Dataset(
            "cora_ml",
            "citations, 2,995 papers, split 500/500/1000 drawn with the split seed",
            Source("cora_ml", ("cora_ml.npz",), GRAPH2GAUSS_URL, {}),
            draws_split=True,
        ),
        Dataset("demo", "the LINQS Cora papers with ids and class names, fixed split", None),
        _planetoid("pubmed", "PubMed", "citations, 19,717 papers, public split"),
    )
}


def dataset_named(name: str) -> Dataset:
    """The row of the table with that name."""
    if name not in DATASETS:
        raise unknown_name("graph", name, DATASETS)
    return DATASETS[name]


def load_graph(name: str, *, data_dir: Path | str | None = None, split_seed: int = 0) -> Graph:
    """Load a named graph. ``split_seed`` matters only where there is no public split."""
    dataset = dataset_named(name)
    if dataset.source is None:
        return load_demo()
    folder = find_or_download(dataset.source, None if data_dir is None else Path(data_dir))
    if not dataset.draws_split:
        return planetoid.read_planetoid(folder, name)
    graph = read_citation_npz(folder / dataset.source.files[0], name=name)
    if graph.fingerprint != CHECKSUMS[name]["content"]:
        raise DataError(f"{folder}: the content of {dataset.source.files[0]} is not that of the published {name}")
    return random_split(graph, seed=split_seed, **CORA_ML_SPLIT)
