"""The table of methods: one row each. No other code chooses a method by its name.

A method's key, file, class, settings file and table row are the same word. A class is imported on first use, so that a
mistyped name is reported before torch is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from confgcn.exceptions import check_choice

if TYPE_CHECKING:
    from confgcn.models.base import AbstractMethod


@dataclass(frozen=True)
class MethodEntry:
    """One row of the table.

    Attributes:
        where: the class, as module:class.
        summary, paper: for the list of methods.
        uses: of ``features``, ``graph`` and ``confidences``.
        presets: the classes of presets that are other models than ``where``.
        ensembles: the classes that combine several models of a preset.
    """

    where: str
    summary: str
    paper: str
    uses: tuple[str, ...]
    presets: Mapping[str, str] = field(default_factory=dict)
    ensembles: Mapping[str, str] = field(default_factory=dict)


METHODS = {
    "confgcn": MethodEntry(
        "confgcn.models.confgcn.propagated:PropagatedConfGCN",
        "Features propagated over edges that are weighted by label scores, then classified",
        "Vashishth, Yadav, Bhandari, Talukdar, AISTATS 2019",
        ("features", "graph", "confidences"),
        {
            "consensus": "confgcn.models.confgcn.consensus:ConsensusConfGCN",
            "paper": "confgcn.models.confgcn.paper:PaperConfGCN",
            "released": "confgcn.models.confgcn.released:ReleasedConfGCN",
        },
        {"propagated": "confgcn.models.confgcn.ensemble:PropagatedEnsemble"},
    ),
    "feat": MethodEntry(
        "confgcn.models.baselines.feat:Feat",
        "Linear classifier of the features",
        "Yang, Cohen, Salakhutdinov, ICML 2016 (their baseline)",
        ("features",),
    ),
    "mlp": MethodEntry(
        "confgcn.models.baselines.mlp:MLP",
        "Network with one hidden layer on the features",
        "Kipf, Welling, ICLR 2017 (their baseline)",
        ("features",),
    ),
    "label_propagation": MethodEntry(
        "confgcn.models.baselines.label_propagation:LabelPropagation",
        "The scores of a node are the mean of its neighbours' scores",
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
        "Network with a hidden layer that brings neighbours together and pushes other nodes apart",
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
        "Graph convolution whose neighbours are weighted by their degrees",
        "Kipf, Welling, ICLR 2017",
        ("features", "graph"),
    ),
    "gated_gcn": MethodEntry(
        "confgcn.models.baselines.gated_gcn:GatedGCN",
        "Graph convolution with a gate for every message",
        "Marcheggiani, Titov, EMNLP 2017",
        ("features", "graph"),
    ),
    "ggnn": MethodEntry(
        "confgcn.models.baselines.ggnn:GGNN",
        "Gated recurrent unit on the mean state of the neighbours",
        "Li, Tarlow, Brockschmidt, Zemel, ICLR 2016",
        ("features", "graph"),
    ),
    "gpnn": MethodEntry(
        "confgcn.models.baselines.gpnn:GPNN",
        "Gated recurrent unit in turns inside the parts of a partition and across them",
        "Liao, Brockschmidt, Tarlow, Gaunt, Urtasun, Zemel, ICLR workshop 2018",
        ("features", "graph"),
    ),
    "gat": MethodEntry(
        "confgcn.models.baselines.gat:GAT",
        "Attention to the neighbours, computed from the features of both ends",
        "Velickovic, Cucurull, Casanova, Romero, Lio, Bengio, ICLR 2018",
        ("features", "graph"),
    ),
    "sage": MethodEntry(
        "confgcn.models.baselines.sage:SAGE",
        "Mean of the neighbours, with the node's own row kept apart",
        "Hamilton, Ying, Leskovec, NIPS 2017",
        ("features", "graph"),
    ),
    "appnp": MethodEntry(
        "confgcn.models.baselines.appnp:APPNP",
        "Prediction from the features, then personalised PageRank over the graph",
        "Gasteiger, Bojchevski, Guennemann, ICLR 2019",
        ("features", "graph"),
    ),
    "taco": MethodEntry(
        "confgcn.models.baselines.taco:TACO",
        "Label scores with confidences, propagated over the graph; precursor of ConfGCN",
        "Orbach, Crammer, ECML PKDD 2012",
        ("graph", "confidences"),
    ),
}


def check_method(name: str) -> None:
    """Raise an error that lists the methods unless there is one of that name."""
    check_choice("method", name, METHODS)


def method_class(name: str, preset: str = "default") -> type[AbstractMethod]:
    """The class of a method under one of its presets."""
    check_method(name)
    entry = METHODS[name]
    return _imported(entry.presets.get(preset, entry.where))


def ensemble_class(name: str, preset: str) -> type[AbstractMethod] | None:
    """The class that combines several models of a preset, built as ``Ensemble(shape, members)``; None without one."""
    check_method(name)
    where = METHODS[name].ensembles.get(preset)
    return None if where is None else _imported(where)


def _imported(where: str) -> type[AbstractMethod]:
    module, _, class_name = where.partition(":")
    chosen: type[AbstractMethod] = getattr(import_module(module), class_name)
    return chosen
