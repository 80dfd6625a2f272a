"""Beyond the paper: are the confidences true? The default preset against its parts and against the baselines."""

from __future__ import annotations

from typing import Any

from confgcn.experiments.paper.jobs import Job, Variant
from confgcn.experiments.paper.published import GRAPHS
from confgcn.experiments.paper.results import Results
from confgcn.experiments.paper.scope import Scope
from confgcn.experiments.paper.table2 import GAT, GCN, RELEASED, TACO

DATASETS = GRAPHS
SHARE_OF_NEW_EDGES, SHARE_OF_FLIPS, SHARE_HELD_BACK = 0.5, 0.1, 0.5

CONSENSUS = Variant("ConfGCN `consensus`", "confgcn", "consensus")
UNIFORM = CONSENSUS.changed("the same, uniform influence", influence="uniform")
LP = Variant("LP", "label_propagation")
METHODS = (CONSENSUS, UNIFORM, RELEASED, GCN, GAT, LP, TACO)
MIXED_METHODS = (CONSENSUS, UNIFORM, GCN, GAT)
SET_METHODS = (CONSENSUS, GCN, GAT, LP, TACO)


def mixed(variant: Variant) -> Variant:
    """On a graph with random edges between classes."""
    return variant.changed(variant.title, edges_between_classes=SHARE_OF_NEW_EDGES)


def flipped(variant: Variant) -> Variant:
    """On a graph with wrong training labels."""
    return variant.changed(variant.title, flipped_labels=SHARE_OF_FLIPS)


def held_back(variant: Variant) -> Variant:
    """Selected and calibrated on a part of the validation nodes."""
    return variant.changed(variant.title, held_back_validation=SHARE_HELD_BACK)


ABLATIONS = (
    CONSENSUS,
    CONSENSUS.changed("influence by distance (1 / d_M)", influence="distance"),
    CONSENSUS.changed("a single step", steps=1),
    CONSENSUS.changed("no sharpening", mu_temperature=1.0),
    CONSENSUS.changed("no pull of the consensus: without L_const", lambda_const=0.0),
    CONSENSUS.changed("precision without evidence", reg_on="precision"),
    CONSENSUS.changed("no dropping of nodes", node_dropout=0.0),
    CONSENSUS.changed("without L_smooth", lambda_smooth=0.0),
    CONSENSUS.changed("without L_label", lambda_label=0.0),
    CONSENSUS.changed("L_smooth over all edges", smooth_over="edges"),
    CONSENSUS.changed("mu and precision at the rate of the weights", confidence_learning_rate=None),
)


def jobs(scope: Scope) -> list[Job]:
    """Everything that is compared."""
    variants = [
        *METHODS,
        *map(mixed, MIXED_METHODS),
        *map(flipped, (CONSENSUS,)),
        *map(held_back, SET_METHODS),
        *ABLATIONS,
    ]
    return scope.jobs(DATASETS, dict.fromkeys(variants), "confidence")


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """To be written."""
    return {}
