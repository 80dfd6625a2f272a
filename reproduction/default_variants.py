"""The default preset and the former one as the tables beyond the paper run them, on original and on changed graphs."""

from __future__ import annotations

from typing import Any

from reproduction.jobs import Variant

NEW_EDGES, FLIPPED_LABELS, HELD_BACK = 0.5, 0.1, 0.5  # shares

# Settings with which the default uses all validation labels for choosing, as its peers do; nothing is certified.
ALL_VALIDATION_LABELS: dict[str, Any] = {"held_out": "whole"}
DEFAULT = Variant("ConfGCN (default)", "confgcn").changed("ConfGCN (default)", **ALL_VALIDATION_LABELS)
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


def divided(variant: Variant) -> Variant:
    """Half of the validation labels choose and calibrate, the other half certifies."""
    return variant.changed(variant.title, held_out="divided")
