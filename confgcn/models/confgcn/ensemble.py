"""The consensus of several propagated models: what the search for settings ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import Contributions, InductiveMethod, Prediction, Shape
from confgcn.models.confgcn.learned_influence import LearnedInfluence
from confgcn.models.confgcn.propagated import PropagatedConfGCN, confident_prediction
from confgcn.models.confgcn.propagation import Propagation, uniform_propagation
from confgcn.models.confgcn.row_contributions import Member, row_contributions


class PropagatedEnsemble(InductiveMethod):
    r"""A weighted mean of the predictions of propagated models, each with its own temperature and offsets of classes.

    .. math:: \mu_v = \sum_i a_i \, \mathrm{softmax}(\mathrm{logits}_v^{(i)} / T_i + o_i), \qquad \sum_i a_i = 1

    The members with uniform influence teach those with learned influence: their consensus gives the influences
    (``learned_influence``). A member that only teaches has a share :math:`a_i` of zero.

    Args:
        members: the options of each :class:`PropagatedConfGCN`.

    Shapes: as of its members; ``shares`` a and ``inverse_temperatures`` 1/T (M,), ``offsets`` o (M, C).
    """

    def __init__(self, shape: Shape, members: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self.members = nn.ModuleList(PropagatedConfGCN(shape, **options) for options in members)
        self.member_options = [dict(options) for options in members]
        self.register_buffer("shares", torch.full((len(members),), 1.0 / max(1, len(members))))
        self.register_buffer("inverse_temperatures", torch.ones(len(members)))
        self.register_buffer("offsets", torch.zeros(len(members), shape.num_classes))
        self.shares: Tensor
        self.inverse_temperatures: Tensor
        self.offsets: Tensor
        self._teach()
        self.register_load_state_dict_post_hook(_teach_again)  # type: ignore[no-untyped-call]

    @classmethod
    def of(
        cls,
        members: Sequence[PropagatedConfGCN],
        options: Sequence[Mapping[str, Any]],
        shares: Sequence[float],
        inverse_temperatures: Sequence[float],
        offsets: Sequence[Tensor],
    ) -> Self:
        """Of trained members, their options and shares, and the scaling of their logits."""
        ensemble = cls(members[0].shape, [])
        ensemble.members = nn.ModuleList(members)
        ensemble.member_options = [dict(each) for each in options]
        ensemble.shares = torch.tensor(list(shares))
        ensemble.inverse_temperatures = torch.tensor(list(inverse_temperatures))
        ensemble.offsets = torch.stack(list(offsets)).float()
        ensemble._teach()
        return ensemble.eval()

    def _teach(self) -> None:
        teachers = [member for member in self._members() if member.influence != "learned"]
        learned = LearnedInfluence(teachers)
        for member in self._members():
            if member.influence == "learned":
                member.learn_influence_from(learned)

    def _members(self) -> list[PropagatedConfGCN]:
        return [member for member in self.members if isinstance(member, PropagatedConfGCN)]

    def forward(self, graph: Graph, nodes: Tensor | None = None) -> Prediction:
        if self.training:
            raise UsageError("an ensemble is made of trained members; train a PropagatedConfGCN instead")
        used = self._used()
        mu = sum(member.share * member.probabilities(member.model(graph, nodes).logits) for member in used)
        assert isinstance(mu, Tensor)
        logits = mu.clamp(min=torch.finfo(mu.dtype).tiny).log()
        if nodes is not None:
            return Prediction(logits, nodes=nodes)
        evidence = sum(member.share * member.model.evidence(graph) for member in used)
        assert isinstance(evidence, Tensor)
        return confident_prediction(graph, logits, mu, self.propagation(graph), evidence)

    def contributions(self, graph: Graph, node: int, *, limit: int) -> Contributions:
        return row_contributions(self._used(), self.propagation(graph), graph, node, limit=limit)

    def _used(self) -> list[Member]:
        """The members with a share."""
        members = map(Member, self._members(), self.shares.tolist(), self.inverse_temperatures.tolist(), self.offsets)
        return [member for member in members if member.share]

    def propagation(self, graph: Graph) -> Propagation:
        """The random walk of the members with learned influence, where there are any with a share."""
        for member, share in zip(self._members(), self.shares.tolist(), strict=True):
            if share and member.influence == "learned":
                return member.propagation(graph)
        return uniform_propagation(graph)

    def with_uniform_influence(self) -> Self:
        """The same weights, with equal influence of all neighbours."""
        controls = [member.with_uniform_influence() for member in self._members()]
        options = self.member_options or []
        scaling = self.inverse_temperatures.tolist(), list(self.offsets)
        return type(self).of(controls, options, self.shares.tolist(), *scaling)


def _teach_again(ensemble: PropagatedEnsemble, _: object) -> None:
    """Influences follow the weights that were loaded."""
    ensemble._teach()
