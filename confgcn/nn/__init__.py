"""The default ConfGCN as a module of PyTorch Geometric: ``forward(x, edge_index)``. Needs ``confgcn[pyg]``."""

from __future__ import annotations

from confgcn.exceptions import ResourceError

try:
    import torch_geometric  # noqa: F401
except ImportError as error:
    raise ResourceError(f"confgcn.nn needs torch_geometric: pip install 'confgcn[pyg]' ({error})") from None

from confgcn.nn.network import ConfGCN
from confgcn.nn.propagated import PropagatedConfGCN

__all__ = ["ConfGCN", "PropagatedConfGCN"]
