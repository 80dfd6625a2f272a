"""ConfGCN: one class per published or improved model, and the functions they share. ``ConfGCN`` is the default one."""

from __future__ import annotations

from confgcn.models.confgcn.propagated import PropagatedConfGCN as ConfGCN

__all__ = ["ConfGCN"]
