"""ConfGCN as modules of PyTorch Geometric: ``forward(x, edge_index)``. Needs ``confgcn[pyg]``."""

from __future__ import annotations

from confgcn.exceptions import ResourceError

try:
    import torch_geometric  # noqa: F401
except ImportError as error:
    raise ResourceError(f"confgcn.nn needs torch_geometric: pip install 'confgcn[pyg]' ({error})") from None

from confgcn.nn.consensus import ConsensusConfGCN
from confgcn.nn.propagated import ConfGCN

__all__ = ["ConfGCN", "ConsensusConfGCN"]
