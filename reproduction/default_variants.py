"""The default preset and the former one as the tables beyond the paper run them, on original and on changed graphs."""

from __future__ import annotations

from reproduction.jobs import Variant

NEW_EDGES, FLIPPED_LABELS, HELD_BACK = 0.5, 0.1, 0.5  # shares

_AS_TRAINED = Variant("ConfGCN (default)", "confgcn")
# All validation labels choose, as those of its peers do; nothing is certified.
DEFAULT = _AS_TRAINED.changed(_AS_TRAINED.title, held_out="whole")
# Half of the validation labels choose and calibrate, the other half certifies.
DIVIDED = _AS_TRAINED.changed(_AS_TRAINED.title, held_out="divided")
CONSENSUS = Variant("ConfGCN `consensus`", "confgcn", "consensus")


def mixed(variant: Variant) -> Variant:
    """On a graph with additional random edges between classes."""
    return variant.changed(variant.title, edges_between_classes=NEW_EDGES)


def flipped(variant: Variant) -> Variant:
    """On a graph with flipped training labels."""
    return variant.changed(variant.title, flipped_labels=FLIPPED_LABELS)


def held_back(variant: Variant) -> Variant:
    """Selected and calibrated on only a share of the validation nodes."""
    return variant.changed(variant.title, held_back_validation=HELD_BACK)
