"""The table of methods: one row each. No other code chooses a method by its name.

A method is imported when it is asked for: a mistyped name is answered before torch is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from confgcn.exceptions import unknown_name

if TYPE_CHECKING:
    from confgcn.models.base import AbstractMethod


@dataclass(frozen=True)
class MethodEntry:
    """One row: where the class is, and what people should know before they choose it."""

    where: str  # module:class
    summary: str
    paper: str
    uses: tuple[str, ...]  # of features, graph, confidences


METHODS = {
    "confgcn": MethodEntry(
        "confgcn.models.confgcn.network:ConfGCN",
        "Graph convolution whose neighbours count by the confidence of their label scores",
        "Vashishth, Yadav, Bhandari, Talukdar, AISTATS 2019",
        ("features", "graph", "confidences"),
    ),
    "feat": MethodEntry(
        "confgcn.models.baselines.feat:Feat",
        "Linear classifier of the features",
        "Yang, Cohen, Salakhutdinov, ICML 2016 (their baseline)",
        ("features",),
    ),
    "label_propagation": MethodEntry(
        "confgcn.models.baselines.label_propagation:LabelPropagation",
        "Every node's scores are the mean of its neighbours'",
        "Zhu, Ghahramani, Lafferty, ICML 2003",
        ("graph",),
    ),
    "mani_reg": MethodEntry(
        "confgcn.models.baselines.mani_reg:ManiReg",
        "Linear least squares whose scores change little along edges",
        "Belkin, Niyogi, Sindhwani, JMLR 2006",
        ("features", "graph"),
    ),
    "semi_emb": MethodEntry(
        "confgcn.models.baselines.semi_emb:SemiEmb",
        "Network whose hidden layer puts neighbours close and other nodes apart",
        "Weston, Ratle, Collobert, ICML 2008",
        ("features", "graph"),
    ),
    "deepwalk": MethodEntry(
        "confgcn.models.baselines.deepwalk:DeepWalk",
        "Skip-gram on random walks, then logistic regression",
        "Perozzi, Al-Rfou, Skiena, KDD 2014",
        ("graph",),
    ),
    "planetoid": MethodEntry(
        "confgcn.models.baselines.planetoid:Planetoid",
        "Embeddings that predict the label and the context in the graph",
        "Yang, Cohen, Salakhutdinov, ICML 2016",
        ("features", "graph"),
    ),
    "gcn": MethodEntry(
        "confgcn.models.baselines.gcn:GCN",
        "Graph convolution in which neighbours count by the degrees alone",
        "Kipf, Welling, ICLR 2017",
        ("features", "graph"),
    ),
    "gated_gcn": MethodEntry(
        "confgcn.models.baselines.gated_gcn:GatedGCN",
        "Graph convolution in which every message passes a gate",
        "Marcheggiani, Titov, EMNLP 2017",
        ("features", "graph"),
    ),
    "ggnn": MethodEntry(
        "confgcn.models.baselines.ggnn:GGNN",
        "States updated by the neighbours' through a gated recurrent unit",
        "Li, Tarlow, Brockschmidt, Zemel, ICLR 2016",
        ("features", "graph"),
    ),
    "gpnn": MethodEntry(
        "confgcn.models.baselines.gpnn:GPNN",
        "The same in turns inside the parts of a partition and across them",
        "Liao, Brockschmidt, Tarlow, Gaunt, Urtasun, Zemel, ICLR workshop 2018",
        ("features", "graph"),
    ),
    "gat": MethodEntry(
        "confgcn.models.baselines.gat:GAT",
        "Attention to the neighbours, by the features of both ends",
        "Velickovic, Cucurull, Casanova, Romero, Lio, Bengio, ICLR 2018",
        ("features", "graph"),
    ),
    "taco": MethodEntry(
        "confgcn.models.baselines.taco:TACO",
        "Label scores with confidences spread over the graph; the ancestor of ConfGCN",
        "Orbach, Crammer, ECML PKDD 2012",
        ("graph", "confidences"),
    ),
}


def check_method(name: str) -> None:
    """Is there a method of that name?"""
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)


def method_class(name: str) -> type[AbstractMethod]:
    """The class of the method of that name."""
    check_method(name)
    module, _, class_name = METHODS[name].where.partition(":")
    found: type[AbstractMethod] = getattr(import_module(module), class_name)
    return found
