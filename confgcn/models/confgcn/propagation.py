"""The propagation matrix of a graph, uniform or from influences, and the rows of its powers.

Rows are kept as long as the graph's adjacency lives: every model that propagates over a graph shares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary, ref

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.graph.propagation_rows import PropagationRows, with_bounded_rows
from confgcn.kernels import kernels_for
from confgcn.sparse import SparseMatrix, SparseStructure

WIDTHS = 32, 512  # the fewest and the most entries of a row
MOST_ENTRIES, MOST_PRODUCTS = 2**24, 2**27  # of a table, and of a step of its walk, with rows of more than the fewest
MOST_NEIGHBOURS = 4096  # of a node that a step of the walk visits, those of the largest influence
KEPT = 128  # the fewest entries of a row that are carried on to the next power


class Propagation:
    r"""A random walk over the edges of a graph, R with loops and P without, and the rows of their powers.

    .. math:: r_{uv} = \frac{w_{uv} s_{uv}}{1 + \sum_{u'} w_{u'v}}, \quad r_{vv} = 1 - \sum_{u \ne v} r_{uv}, \quad
              p_{uv} = \frac{w_{uv} s_{uv}}{\sum_{u'} w_{u'v}}, \quad p_{vv} = 0

    Shapes: ``influence`` (E,), r over the entries of the adjacency, and ``without_loops`` (E,), p; both in the type of
    the graph's features. ``scores`` s (E,), None for ones.
    """

    def __init__(self, graph: Graph, scores: Tensor | None = None) -> None:
        adjacency = graph.adjacency
        is_loop = adjacency.indices == adjacency.rows
        ones = torch.ones(adjacency.num_entries, device=adjacency.device)
        weights = ones if graph.edge_weight is None else graph.edge_weight
        weights = weights.double().masked_fill(is_loop, 0.0)  # a sum of float32 weights can overflow
        totals = self._spread_sums(adjacency, weights)
        if scores is not None:
            weights = weights * scores
        influence = weights / (1.0 + totals)
        own = (1.0 - self._spread_sums(adjacency, influence)).clamp(min=0.0)  # rounding
        self.adjacency, self.edge_weight = ref(adjacency), graph.edge_weight  # weak: the key that this is kept under
        self.influence = torch.where(is_loop, own, influence).to(feature_type(graph))
        self.without_loops = (weights / totals.masked_fill(totals == 0.0, 1.0)).to(feature_type(graph))
        self._rows: dict[tuple[tuple[float, ...], bool], PropagationRows] = {}

    @staticmethod
    def _spread_sums(adjacency: SparseStructure, values: Tensor) -> Tensor:
        """For every entry the sum of the values in its row, (E,)."""
        return kernels_for(values).sum_rows(adjacency, values).index_select(0, adjacency.rows)

    def summed(self, order: int, decay: float) -> PropagationRows:
        r"""The rows of :math:`\sum_{k=0}^{K} c_k R^k`, with :math:`c_k \propto (1 - \alpha)^k` and a sum of one."""
        return self._built(walk_coefficients(order, decay), loops=True)

    def hop(self, number: int) -> PropagationRows:
        """The rows of a power of P, without the paths that return to the node."""
        return self._built([0.0] * number + [1.0], loops=False)

    def _built(self, coefficients: Sequence[float], *, loops: bool) -> PropagationRows:
        key = (tuple(coefficients), loops)
        if key not in self._rows:
            adjacency = self.adjacency()
            assert adjacency is not None
            values, width = (
                self.influence if loops else self.without_loops,
                row_width(adjacency.shape[0], adjacency.num_entries),
            )
            with torch.inference_mode(False):  # rows are used in training too
                bounded = with_bounded_rows(adjacency, values, MOST_NEIGHBOURS)
                self._rows[key] = PropagationRows.build(
                    *bounded, coefficients, width=width, kept=max(KEPT, width), without_self=not loops
                )
        return self._rows[key]


def row_width(num_nodes: int, num_entries: int) -> int:
    """The entries of a row: as many as a bounded size of the table and a bounded time to build it allow."""
    fewest, most = WIDTHS
    affordable = min(MOST_ENTRIES // num_nodes, MOST_PRODUCTS // num_entries)
    return max(fewest, min(most, num_nodes, affordable))


def walk_coefficients(order: int, decay: float) -> list[float]:
    r""":math:`c_0, \ldots, c_K`, with :math:`c_k \propto (1 - \alpha)^k` and a sum of one."""
    powers = [(1.0 - decay) ** k for k in range(order + 1)]
    return [value / sum(powers) for value in powers]


_UNIFORM: WeakKeyDictionary[SparseStructure, Propagation] = WeakKeyDictionary()


def uniform_propagation(graph: Graph) -> Propagation:
    """All neighbours have equal influence, but for the weights of their edges."""
    known = _UNIFORM.get(graph.adjacency)
    is_current = known is not None and known.edge_weight is graph.edge_weight
    if known is None or not is_current or known.influence.dtype != feature_type(graph):
        known = Propagation(graph)
        _UNIFORM[graph.adjacency] = known
    return known


def feature_type(graph: Graph) -> torch.dtype:
    """The floating-point type of the graph's features."""
    features = graph.features
    return features.values.dtype if isinstance(features, SparseMatrix) else features.dtype
