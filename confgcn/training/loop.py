"""The training loop for all methods: fit -> run_epoch -> train_epoch, validate; train_epoch -> train_step."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import torch
from torch import Tensor

from confgcn.evaluation.logit_scaling import scaled_log_loss
from confgcn.evaluation.metrics import count_correct, total_log_loss
from confgcn.exceptions import DataError, DivergedError, UsageError
from confgcn.graph import Graph
from confgcn.kernels import all_finite
from confgcn.models.base import AbstractMethod, LossTerm, Prediction
from confgcn.training.adam import Adam
from confgcn.training.batches import Batches, check_batches
from confgcn.training.callbacks import Callback
from confgcn.training.group import SINGLE_PROCESS, Group, SharedParameters
from confgcn.training.optimiser_rows import gradient_values, rows_of_sample
from confgcn.training.recipe import Recipe
from confgcn.training.seed import seed_epoch
from confgcn.training.selection import (
    CALIBRATED_LOSS,
    SELECTION_RULES,
    STOPPING_RULES,
    Record,
    needs_calibrated_loss,
    needs_validation,
)
from confgcn.training.sgd import SGD

OPTIMISERS: dict[str, type[Adam | SGD]] = {"adam": Adam, "sgd": SGD}
QUANTITIES = ("logits", "mu", "precision", "influence")  # of a prediction, which must be finite


class TrainingLoop:
    """Train one method on one graph by one recipe.

    The method only ever sees the graph with all labels outside the training set hidden. After :meth:`fit` the method
    has the selected weights, ``history`` one record per epoch, and ``best`` is the record of the selected epoch.
    ``title`` names the training to callbacks that see several. The epochs are run on the ``device``; the setup before
    and everything after :meth:`fit` are computed on the CPU.

    If the graph is a shard, the other shards are in the other processes of the ``group``. Sums are taken over all of
    them, so that every process sees the same losses and stops after the same epoch.
    """

    def __init__(
        self,
        method: AbstractMethod,
        graph: Graph,
        recipe: Recipe,
        callbacks: Sequence[Callback] = (),
        *,
        title: str = "",
        group: Group = SINGLE_PROCESS,
        device: torch.device | str = "cpu",
    ) -> None:
        check_trainable(graph, recipe, group)
        check_batches(type(method), recipe, in_shards=graph.shard is not None or group.size > 1)
        if group.size > 1 and needs_calibrated_loss(recipe.select, recipe.stop):
            raise UsageError(
                "several workers: the calibrated loss needs all predictions in one process; use "
                "--set select=best_validation_loss --set stop=no_improvement"
            )
        self.method, self.graph, self.recipe = method, graph, recipe
        self.callbacks, self.title, self.group = callbacks, title, group
        self.visible = graph.training_view()
        self.validation_labels = graph.labels[graph.validation].to(device)
        self.num_validation = int(group.sum([len(graph.validation)])[0])
        self.seed = torch.initial_seed()
        self.best_weights: dict[str, Tensor] = {}
        self.replay([])
        self._call("on_setup")
        method.setup(self.visible)
        self._move(device)
        self.batches = Batches(self.visible, method, recipe)
        self.parameters = dict(method.named_parameters())
        self.shared = SharedParameters(method, group)
        self.optimiser = self._make_optimiser()

    def _make_optimiser(self) -> Adam | SGD | None:
        """None for a method without parameters."""
        groups = [group for group in self.method.parameter_groups() if group["params"]]
        if not groups:
            return None
        make = OPTIMISERS[self.recipe.optimiser]
        return make(groups, learning_rate=self.recipe.learning_rate, norm=self.shared.squared_norm)

    @property
    def finished(self) -> bool:
        """Has the last epoch been run?"""
        return self.optimiser is None or self.stopped or len(self.history) >= self.recipe.epochs

    def fit(self) -> None:
        """Run the remaining epochs and restore the selected weights."""
        try:
            self._call("on_start")
            while not self.finished:
                self.run_epoch()
                self._call("on_epoch")
        finally:
            self._move("cpu")
        if self.best_weights:
            self.method.load_state_dict(self.best_weights)
        self._call("on_end")

    def _move(self, device: torch.device | str) -> None:
        self.method.to(device)
        self.visible = self.visible.to(device)

    def run_epoch(self) -> None:
        """Train on every batch and, where one is due, check the validation set."""
        epoch = len(self.history) + 1
        if self.group.size > 1:
            seed_epoch(self.seed, epoch, self.group.rank)
        record: Record = {"epoch": epoch, **self.train_epoch()}
        if not self.is_validated(epoch):
            self.history.append(record)
            return
        record |= self.validate()
        self.history.append(record)
        if self._apply_rules(record):
            self._keep_weights()

    def is_validated(self, epoch: int) -> bool:
        """Is the validation set evaluated after this epoch?"""
        return epoch % self.recipe.evaluate_every == 0 or epoch == self.recipe.epochs

    def replay(self, history: list[Record]) -> None:
        """Set the history, and the rules to their state after it."""
        self.history, self.stopped = history, False
        self.best: Record | None = None
        self.selection = SELECTION_RULES[self.recipe.select]()
        self.stopping = STOPPING_RULES[self.recipe.stop](self.recipe.patience)
        for record in history:
            if self.is_validated(record["epoch"]):
                self._apply_rules(record)

    def _apply_rules(self, check: Record) -> bool:
        """Let both rules see a validation check; returns whether its weights are to be kept."""
        self.stopped = self.stopping.stops(check)
        is_best = self.selection.is_best(check)
        if is_best:
            self.best = check
        return is_best

    def _keep_weights(self) -> None:
        """Overwrite the weights kept before: there is never a third copy."""
        weights = self.method.state_dict()
        if not self.best_weights:
            self.best_weights = {name: torch.empty_like(value) for name, value in weights.items()}
        for name, value in weights.items():
            self.best_weights[name].copy_(value)

    def train_epoch(self) -> dict[str, float]:
        """One step on every batch; returns the means of the losses."""
        steps = [self.train_step(batch) for batch in self.batches]
        if len(steps) == 1:
            return steps[0]
        return {name: statistics.fmean(step[name] for step in steps) for name in steps[0]}

    def train_step(self, batch: Graph | None = None) -> dict[str, float]:
        """One gradient step on a batch (None: on the whole graph); returns the loss and each of its terms."""
        assert self.optimiser is not None
        terms = self.compute_gradients(batch)
        self.optimiser.step()
        self.method.zero_grad(set_to_none=True)  # as large as the parameters, and no longer needed
        return {"loss": sum(terms.values()), **{f"loss_{name}": value for name, value in terms.items()}}

    def compute_gradients(self, batch: Graph | None = None) -> dict[str, float]:
        """Give every parameter its gradient over all processes, clipped; returns the terms of the loss."""
        self.method.train().zero_grad(set_to_none=True)
        with rows_of_sample(self.method, self.visible if batch is None else batch) as graph:
            prediction = self.method(graph, self.method.nodes_in_loss(graph))
            terms = self.method.loss_terms(graph, prediction)
            scales, values = self._scaled(terms, graph)
            self._require_finite({name: math.isfinite(value) for name, value in values.items()})
            _backward(terms, scales)
        self.shared.sum_gradients()
        gradients = {name: weight.grad for name, weight in self.parameters.items() if weight.grad is not None}
        self._require_finite({f"gradient of {name}": all_finite(gradient_values(g)) for name, g in gradients.items()})
        if self.recipe.clip_norm is not None:
            norm = self.shared.gradient_norm()
            torch.nn.utils.clip_grads_with_norm_(self.parameters.values(), self.recipe.clip_norm, norm)
        return values

    def _scaled(self, terms: dict[str, LossTerm], graph: Graph) -> tuple[list[float], dict[str, float]]:
        """The factor of each term's sum, and the terms over all processes; those of a batch estimate the epoch's."""
        sums = torch.stack([term.sum.detach() for term in terms.values()]).tolist()
        totals = self.group.sum([*sums, *[float(term.count or 0) for term in terms.values()]])
        batches = 1 if graph.sample is None else self.batches.count
        scales = [
            batches * term.weight / (1 if term.count is None else int(count))
            for term, count in zip(terms.values(), totals[len(terms) :], strict=True)
        ]
        values = {name: scale * total for name, scale, total in zip(terms, scales, totals, strict=False)}
        return scales, values

    def validate(self) -> dict[str, float]:
        """Validation accuracy and loss, without dropout."""
        if not self.num_validation:
            return {}
        nodes, labels = self.visible.validation, self.validation_labels
        logits = self.predict(nodes).logits_of(nodes)
        correct, loss = self.group.sum([count_correct(logits, labels), total_log_loss(logits, labels)])
        check = {"validation_accuracy": correct / self.num_validation, "validation_loss": loss / self.num_validation}
        if needs_calibrated_loss(self.recipe.select, self.recipe.stop):
            check[CALIBRATED_LOSS] = scaled_log_loss(logits, labels)
        return check

    @torch.no_grad()
    def predict(self, nodes: Tensor | None = None) -> Prediction:
        """The prediction of these nodes (None: of all) with the current weights."""
        prediction = self.method.predict(self.visible, nodes)
        quantities = [(name, getattr(prediction, name)) for name in QUANTITIES]
        self._require_finite({name: all_finite(value) for name, value in quantities if value is not None})
        return prediction

    def release(self) -> None:
        """Free what only training needs: gradients, moments and the kept weights. No step can follow."""
        self.method.zero_grad(set_to_none=True)
        self.optimiser = None
        self.best_weights = {}

    def _call(self, event: str) -> None:
        for callback in self.callbacks:
            getattr(callback, event)(self)

    def _require_finite(self, is_finite: dict[str, bool]) -> None:
        failures = self.group.sum([not finite for finite in is_finite.values()])
        if not any(failures):
            return
        name = next(name for name, count in zip(is_finite, failures, strict=True) if count)
        raise DivergedError(
            f"training diverged in epoch {len(self.history) + 1}: {name} is not finite; try a smaller learning_rate"
        )


def check_trainable(graph: Graph, recipe: Recipe, group: Group = SINGLE_PROCESS) -> None:
    """Training needs labels of at least two classes, and a validation set if a rule uses it."""
    labels = torch.bincount(graph.labels[graph.train], minlength=graph.num_classes).tolist()
    *counts, validation = group.sum([*labels, len(graph.validation)])
    classes = [number for number, count in enumerate(counts) if count]
    if len(classes) == 0:
        raise DataError(f"{graph.name}: no node has a training label{_labels_elsewhere(graph)}")
    if len(classes) == 1:
        only = graph.class_names[classes[0]]
        raise DataError(f"{graph.name}: all training labels are of one class, {only!r}; at least two are needed")
    if not validation and needs_validation(recipe.select, recipe.stop):
        raise DataError(
            f"{graph.name}: the validation set is empty, but select = {recipe.select!r} and stop = {recipe.stop!r} "
            "need one; use --set select=last --set stop=never"
        )


def _labels_elsewhere(graph: Graph) -> str:
    labelled = int((graph.labels >= 0).sum())
    unused = f", though {labelled} have a label: the split puts none of them into the training set" if labelled else ""
    return "".join([unused, *(f". {text}" for text in graph.reader_notices)])


def _backward(terms: dict[str, LossTerm], scales: list[float]) -> None:
    """Backpropagate the whole objective: the gradient of each term's sum is its scale."""
    roots = [(term.sum, scale) for term, scale in zip(terms.values(), scales, strict=True) if term.sum.requires_grad]
    torch.autograd.backward([value for value, _ in roots], [value.new_full((), scale) for value, scale in roots])
