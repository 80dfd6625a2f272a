"""The table of named graphs, and the function that loads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from confgcn.data.demo import load_demo
from confgcn.data.downloads import DatasetFiles, find, find_or_download, verify_files
from confgcn.data.formats import planetoid
from confgcn.data.formats.npz import read_citation_npz
from confgcn.data.graph_names import check_graph_name
from confgcn.data.input_files import naming
from confgcn.data.splits import random_split
from confgcn.exceptions import DataError
from confgcn.graph import Graph
from confgcn.io.toml import read_toml

CHECKSUMS = read_toml(Path(__file__).parent / "files" / "checksums.toml")
PLANETOID_URL = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data"
CORA_ML_URL = "https://raw.githubusercontent.com/gasteigerjo/ppnp/3fe09b4582a96fc20bfcae6e9e0d7682deba2c92/ppnp/data"
CORA_ML_SPLIT = {"train": 500, "validation": 500, "test": 1000}  # Table 1: |V_l| / |V| = 0.166


@dataclass(frozen=True)
class Dataset:
    """A named graph.

    Attributes:
        files: its published files; None if they are inside the package.
        read: reads the files in a folder and checks that their content is the published one.
        draw_split: draws a split with a seed, for a graph without a public split.
    """

    name: str
    description: str
    files: DatasetFiles | None
    read: Callable[[Path], Graph]
    draw_split: Callable[[Graph, int], Graph] | None = None

    def where(self, data_dir: Path | None = None) -> str | None:
        """The folder the files were found in, or None."""
        if self.files is None:
            return "inside the package"
        folder = find(self.files, data_dir)
        return None if folder is None else str(folder)


def _planetoid(name: str, folder: str, description: str) -> Dataset:
    files = DatasetFiles(folder, PLANETOID_URL, CHECKSUMS[name])

    def read(folder: Path) -> Graph:
        graph = planetoid.read_planetoid(folder, name)
        verify_files(folder, files.checksums)
        return graph

    return Dataset(name, description, files, read)


def _read_cora_ml(folder: Path) -> Graph:
    # Published under two spellings of its keys, so the content is compared and not the file.
    graph = read_citation_npz(folder / "cora_ml.npz", name="cora_ml")
    if graph.fingerprint != CHECKSUMS["cora_ml_content"]["sha256"]:
        raise DataError(f"{folder / 'cora_ml.npz'}: its content is not that of the published cora_ml")
    return graph


DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        _planetoid("citeseer", "CiteSeer", "citations, 3,327 papers, public split"),
        _planetoid("cora", "Cora", "citations, 2,708 papers, public split"),
        Dataset(
            "cora_ml",
            "citations, 2,995 papers, split 500/500/1000 drawn with the split seed",
            DatasetFiles("cora_ml", CORA_ML_URL, CHECKSUMS["cora_ml"]),
            _read_cora_ml,
            lambda graph, seed: random_split(graph, seed=seed, **CORA_ML_SPLIT),
        ),
        Dataset("demo", "the LINQS Cora papers with ids and class names, fixed split", None, lambda _: load_demo()),
        _planetoid("pubmed", "PubMed", "citations, 19,717 papers, public split"),
    )
}


def dataset_named(name: str) -> Dataset:
    """The row of the table with that name."""
    check_graph_name(name)
    return DATASETS[name]


def load_dataset(name: str, *, data_dir: Path | str | None = None, split_seed: int = 0) -> Graph:
    """Load a data set by its name. ``split_seed`` matters only where there is no public split."""
    dataset = dataset_named(name)
    folder = Path()
    if dataset.files is not None:
        folder = find_or_download(dataset.files, None if data_dir is None else Path(data_dir))
    with naming(folder):
        graph = dataset.read(folder)
    return dataset.draw_split(graph, split_seed) if dataset.draw_split else graph
