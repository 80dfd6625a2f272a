"""Time and memory of ConfGCN's terms on a million nodes: plain torch, as in the library, and hand-derived gradients.

``python benchmarks/losses.py`` measures every term in a process of its own and writes ``results/losses.json``. A step
is a forward and a backward pass; its memory is the growth of the resident set in the first step.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from recorded import write
from resident import peak_bytes, reset_peak
from torch import Tensor
from torch.nn.functional import elu

from confgcn import kernels
from confgcn.models.confgcn import losses
from confgcn.models.confgcn.consensus import ALPHA, BETA, NU
from confgcn.models.confgcn.influence import inverse_distance, normalised
from confgcn.ops.autograd import HandDerived
from confgcn.sparse import SparseStructure

NODES, CLASSES, NEIGHBOURS, LABELLED = 1_000_000, 7, 10, 20_000
REPEATS = 15

Step = Callable[..., Tensor]
Case = tuple[tuple[Tensor, ...], Step, Step]  # variables, plain and hand-derived function of them


class SquaredDistance(HandDerived):
    """sum (a - b)^2."""

    @staticmethod
    def forward(ctx: Any, one: Tensor, other: Tensor) -> Tensor:
        ctx.save_for_backward(one, other)
        difference = one - other
        return torch.dot(difference.reshape(-1), difference.reshape(-1))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        one, other = ctx.saved_tensors
        to_one = (one - other).mul_(2 * gradient)
        return to_one, -to_one if ctx.needs_input_grad[1] else None


class NegativePart(HandDerived):
    """sum max(-x, 0); without negative x nothing is computed."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        if values.min() >= 0.0:
            return values.new_zeros(())
        ctx.save_for_backward(values)
        return -values.clamp(max=0.0).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor | None:
        if not ctx.saved_tensors:
            return None
        (values,) = ctx.saved_tensors
        return (values < 0.0) * -gradient


class LabelDistance(HandDerived):
    """sum (mu - Y)^2 (p + 1) over the labelled nodes."""

    @staticmethod
    def forward(ctx: Any, mu: Tensor, precision: Tensor, nodes: Tensor, labels: Tensor) -> Tensor:
        difference = mu.index_select(0, nodes).sub_(labels)
        weighted = (precision.index_select(0, nodes) + 1.0).mul_(difference)
        ctx.shape = mu.shape
        ctx.save_for_backward(difference, weighted, nodes)
        return torch.dot(difference.reshape(-1), weighted.reshape(-1))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        difference, weighted, nodes = ctx.saved_tensors
        to_mu = difference.new_zeros(ctx.shape).index_copy_(0, nodes, weighted * (2 * gradient))
        to_precision = difference.new_zeros(ctx.shape).index_copy_(0, nodes, difference.square().mul_(gradient))
        return to_mu, to_precision, None, None


class Evidence(HandDerived):
    """sum k softplus(-x) + beta softplus(x), with the derivative p (k + beta) - k."""

    @staticmethod
    def forward(ctx: Any, raw: Tensor, counts: Tensor) -> Tensor:
        ctx.save_for_backward(raw, counts)
        precision = raw.sigmoid()
        return -(counts * precision.log() + BETA * torch.log1p(-precision)).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        raw, counts = ctx.saved_tensors
        return (raw.sigmoid().mul_(counts + BETA)).sub_(counts).mul_(gradient), None


class Influence(HandDerived):
    """softmax over N(v) of 1 / (d + c)."""

    @staticmethod
    def forward(ctx: Any, distance: Tensor, structure: SparseStructure) -> Tensor:
        scores = (distance + 1.0).reciprocal_()
        weights = kernels.kernels_for(scores).softmax(structure, scores)
        ctx.structure = structure
        ctx.save_for_backward(scores, weights)
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        scores, weights = ctx.saved_tensors
        gradient = kernels.kernels_for(gradient).softmax_gradient(ctx.structure, weights, gradient)
        return scores.square().neg_().mul_(gradient), None


def const() -> Case:
    return (table().softmax(1), table().softmax(1)), losses.const_loss, SquaredDistance.of


def consensus() -> Case:
    def by_hand(mu: Tensor, consensus: Tensor, probabilities: Tensor) -> Tensor:
        to_prediction: Tensor = SquaredDistance.of(consensus, probabilities.detach())
        return to_prediction + SquaredDistance.of(probabilities, mu.detach())

    return tuple(table().softmax(1) for _ in range(3)), losses.consensus_loss, by_hand


def label() -> Case:
    nodes = torch.arange(0, NODES, NODES // LABELLED)
    labels = torch.eye(CLASSES)[torch.randint(CLASSES, (len(nodes),))]

    def plain(mu: Tensor, precision: Tensor) -> Tensor:
        return losses.label_loss(mu, precision, nodes, labels, certainty=1.0)

    return (table(), table()), plain, lambda mu, precision: LabelDistance.of(mu, precision, nodes, labels)


def reg() -> Case:
    return (table(),), losses.reg_loss, NegativePart.of


def reg_of_positive_precisions() -> Case:
    return (elu(table().abs()),), losses.reg_loss, NegativePart.of


def evidence() -> Case:
    share = torch.rand(NODES)
    counts = ALPHA + NU * share[:, None]
    plain = partial(losses.evidence_loss, evidence=share, alpha=ALPHA, beta=BETA, nu=NU)
    return (table(),), plain, lambda raw: Evidence.of(raw, counts)


def influence() -> Case:
    indptr = torch.arange(NODES + 1) * NEIGHBOURS
    structure = SparseStructure(indptr, torch.arange(NEIGHBOURS).repeat(NODES), (NODES, NODES))

    def plain(distance: Tensor) -> Tensor:
        return normalised(structure, inverse_distance(distance, offset=1.0), "softmax").square().sum()

    def by_hand(distance: Tensor) -> Tensor:
        weights: Tensor = Influence.of(distance, structure)
        return weights.square().sum()

    return (torch.rand(NODES * NEIGHBOURS),), plain, by_hand


CASES = {
    case.__name__: case for case in (const, consensus, label, reg, reg_of_positive_precisions, evidence, influence)
}


def table(rows: int = NODES) -> Tensor:
    """A random number per row and class."""
    return torch.randn(rows, CLASSES)


def measure(name: str, how: str) -> dict[str, float]:
    """The value of a term, the seconds of a step, and its megabytes."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    values, plain, by_hand = CASES[name]()
    variables = [value.requires_grad_() for value in values]
    function = plain if how == "plain" else by_hand
    reset_peak()
    before = peak_bytes()
    value = step(function, variables)
    megabytes = (peak_bytes() - before) / 2**20
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        step(function, variables)
        seconds.append(time.perf_counter() - started)
    return {"value": value, "seconds": min(seconds), "megabytes": megabytes}


def step(function: Step, variables: list[Tensor]) -> float:
    """A forward and a backward pass."""
    for variable in variables:
        variable.grad = None
    loss = function(*variables)
    loss.backward()
    return float(loss.detach())


def main() -> None:
    """Every term in both ways, or one measurement of a child process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--measure", nargs=2, metavar=("TERM", "HOW"), help="for a child process")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(*arguments.measure)))
        return
    terms: dict[str, Any] = {}
    for name in CASES:
        terms[name] = {how: run(name, how) for how in ("plain", "hand-derived")}
        print(name, json.dumps(terms[name]))
    sizes = {"nodes": NODES, "classes": CLASSES, "kernels": kernels.active().__name__}
    write("losses", {"date": datetime.date.today().isoformat(), **sizes, "terms": terms})


def run(name: str, how: str) -> dict[str, float]:
    """One measurement in a process of its own."""
    words = [sys.executable, __file__, "--measure", name, how]
    result: dict[str, float] = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return result


if __name__ == "__main__":
    main()
