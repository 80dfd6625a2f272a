"""The training loop for all methods: fit -> run_epoch -> train_epoch, evaluate; train_epoch -> train_step."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from confgcn.evaluation.metrics import count_correct, total_log_loss
from confgcn.exceptions import CorruptFileError, DataError, DivergedError, brief
from confgcn.graph import Graph
from confgcn.kernels import all_finite
from confgcn.models.base import AbstractMethod, LossTerm, Prediction
from confgcn.training.adam import Adam
from confgcn.training.batches import Batches, check_batches
from confgcn.training.callbacks import Callback
from confgcn.training.group import ALONE, Group, Sharing
from confgcn.training.history import checked_history
from confgcn.training.optimiser_rows import lent_rows, numbers_in
from confgcn.training.recipe import Recipe
from confgcn.training.seed import begin_epoch
from confgcn.training.selection import SELECTION, STOPPING, Record, needs_validation
from confgcn.training.sgd import SGD
from confgcn.training.state_rows import NODES

OPTIMISERS: dict[str, type[Adam | SGD]] = {"adam": Adam, "sgd": SGD}


class TrainingLoop:
    """Train one method on one graph by one recipe.

    The method only ever sees the graph with all labels outside the training set hidden. After :meth:`fit` the
    method carries the selected weights, ``history`` one record per epoch, ``looks`` those of the epochs after which
    the validation set was looked at, ``best`` the one selected. ``title`` is for whoever watches several loops.

    Where the graph is a part of one, the other parts are in the other processes of the ``group``: sums are taken over
    all, so that every process sees the same losses and comes to the same end.
    """

    def __init__(
        self,
        method: AbstractMethod,
        graph: Graph,
        recipe: Recipe,
        callbacks: Sequence[Callback] = (),
        *,
        title: str = "",
        group: Group = ALONE,
    ) -> None:
        check_trainable(graph, recipe, group)
        check_batches(type(method), recipe, in_parts=graph.shard is not None or group.size > 1)
        self.title = title
        self.group = group
        self.method = method
        self.recipe = recipe
        self.callbacks = callbacks
        self.graph = graph
        self.visible = graph.training_view()
        self.validation_labels = graph.labels[graph.validation]
        self.num_validation = int(group.add([len(graph.validation)])[0])
        self.seed = torch.initial_seed()
        self.history: list[Record] = []
        self.looks: list[Record] = []
        self.best: Record | None = None
        self.best_weights: dict[str, Tensor] = {}
        self._tell("on_setup")
        self.method.setup(self.visible)
        self.batches = Batches(self.visible, method, recipe)
        self.parameters = dict(method.named_parameters())
        groups = [group for group in method.parameter_groups() if group["params"]]
        in_rows = [self.parameters[name] for name in method.per_node]
        whole = [weight for name, weight in self.parameters.items() if name not in method.per_node]
        self.sharing = Sharing(group, whole, in_rows)
        make = OPTIMISERS[recipe.optimiser]
        self.optimiser = (
            make(groups, learning_rate=recipe.learning_rate, norm=self.sharing.squared_norm) if groups else None
        )

    @property
    def finished(self) -> bool:
        """Has the last epoch been run?"""
        if self.optimiser is None:
            return True
        if not self._just_looked():
            return False
        stopped = STOPPING[self.recipe.stop](self.looks, self.recipe.patience)
        return stopped or len(self.history) >= self.recipe.epochs

    def fit(self) -> None:
        """Run the epochs that are left and restore the selected weights."""
        self._tell("on_start")
        while not self.finished:
            self.run_epoch()
            self._tell("on_epoch")
        if self.best_weights:
            self.method.load_state_dict(self.best_weights)
        self._tell("on_end")

    def release(self) -> None:
        """Let go of what only training needs: gradients, moments and the weights that were kept; no step can follow."""
        self.method.zero_grad(set_to_none=True)
        self.optimiser = None
        self.best_weights = {}

    def run_epoch(self) -> None:
        """A pass over the training nodes and, where one is due, a look at the validation nodes."""
        if self.group.size > 1:
            begin_epoch(self.seed, len(self.history) + 1, self.group.rank)
        record: Record = {"epoch": len(self.history) + 1, **self.train_epoch()}
        is_look = self._is_look(record)
        self.history.append({**record, **self.evaluate()} if is_look else record)
        if is_look:
            self.looks.append(self.history[-1])
            self.keep_if_best()

    def keep_if_best(self) -> None:
        """Keep the weights that were just looked at, if the recipe's rule prefers them."""
        if self.best is None or SELECTION[self.recipe.select](self.looks):
            self.best = self.looks[-1]
            self._keep_weights()

    def _keep_weights(self) -> None:
        """In the place of those before: there is never a third copy."""
        if not self.best_weights:
            self.best_weights = {name: torch.empty_like(value) for name, value in self.method.state_dict().items()}
        for name, value in self.method.state_dict().items():
            self.best_weights[name].copy_(value)

    def train_epoch(self) -> dict[str, float]:
        """One step on every batch; returns the means of what they return."""
        steps = [self.train_step(batch) for batch in self.batches]
        return {name: statistics.fmean(step[name] for step in steps) for name in steps[0]}

    def train_step(self, batch: Graph | None = None) -> dict[str, float]:
        """One gradient step on a batch (None: on the whole graph); returns the loss and each of its terms."""
        assert self.optimiser is not None
        parts = self.find_gradients(batch)
        self.optimiser.step()
        self.method.zero_grad(set_to_none=True)  # as large as the parameters, and of no more use
        return {"loss": sum(parts.values()), **{f"loss_{name}": part for name, part in parts.items()}}

    def find_gradients(self, batch: Graph | None = None) -> dict[str, float]:
        """Leave every parameter with its gradient over all parts, clipped; returns the terms of the loss."""
        self.method.train().zero_grad(set_to_none=True)
        with lent_rows(self.method, self.visible if batch is None else batch) as graph:
            prediction = self.method(graph, self.method.nodes_in_loss(graph))
            terms, parts = self._joined(self.method.loss_terms(graph, prediction), graph)
            self._require_finite({name: math.isfinite(part) for name, part in parts.items()})
            _backward_of_sum(terms.values())
        self.sharing.add_gradients()
        self._require_finite(
            {
                f"gradient of {name}": all_finite(numbers_in(weight.grad))
                for name, weight in self.parameters.items()
                if weight.grad is not None
            }
        )
        if self.recipe.clip_norm is not None:
            norm = self.sharing.gradient_norm()
            torch.nn.utils.clip_grads_with_norm_(self.parameters.values(), self.recipe.clip_norm, norm)
        return parts

    def _joined(self, terms: dict[str, LossTerm], graph: Graph) -> tuple[dict[str, LossTerm], dict[str, float]]:
        """The terms with the counts of all parts, and their values over all of them; of a batch, as if of all."""
        sums = torch.stack([term.sum.detach() for term in terms.values()]).tolist()
        added = self.group.add([*sums, *(float(term.count or 0) for term in terms.values())])
        counts = [
            None if term.count is None else int(n) for term, n in zip(terms.values(), added[len(sums) :], strict=True)
        ]
        times = 1 if graph.sample is None else self.batches.count
        counted = {
            name: replace(term, count=count, weight=times * term.weight)
            for (name, term), count in zip(terms.items(), counts, strict=True)
        }
        return counted, {name: term.scale * total for (name, term), total in zip(counted.items(), added, strict=False)}

    def evaluate(self) -> dict[str, float]:
        """Validation accuracy and loss, without dropout."""
        if not self.num_validation:
            return {}
        nodes, labels = self.graph.validation, self.validation_labels
        logits = self.predict(nodes).logits_of(nodes)
        correct, loss = self.group.add([count_correct(logits, labels), total_log_loss(logits, labels)])
        return {
            "validation_accuracy": correct / self.num_validation,
            "validation_loss": loss / self.num_validation,
        }

    @torch.no_grad()
    def predict(self, nodes: Tensor | None = None) -> Prediction:
        """The method's prediction of these nodes (None: of every one) with its present weights."""
        prediction = self.method.predict(self.visible, nodes)
        quantities = {name: getattr(prediction, name) for name in ("logits", "mu", "precision", "influence")}
        self._require_finite({name: all_finite(value) for name, value in quantities.items() if value is not None})
        return prediction

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything needed to go on from here: tensors, and a record that can be written as JSON."""
        tensors = {f"method/{name}": value for name, value in self.method.state_dict().items()}
        tensors |= {f"best/{name}": value for name, value in self.best_weights.items()}
        tensors["random"] = torch.get_rng_state()
        if self.optimiser is not None:
            tensors |= {f"optimiser/{name}": value for name, value in self.optimiser.state().items()}
        per_node = self._state_per_node(tensors)
        shard = self.graph.shard
        if shard is not None:
            tensors[NODES] = shard.nodes
        record = {"history": self.history, "best_epoch": self.best["epoch"] if self.best else None}
        num_nodes = self.graph.num_nodes if shard is None else shard.total_nodes
        return tensors, {**record, "parts": sorted(tensors), "per_node": per_node, "num_nodes": num_nodes}

    def _state_per_node(self, tensors: dict[str, Tensor]) -> list[str]:
        """The tensors of the state that have a row for every node."""
        rows = [f"{kind}/{name}" for kind in ("method", "best") for name in self.method.per_node]
        if self.optimiser is not None:
            rows += [f"optimiser/{name}" for name in self.optimiser.state_of(self.sharing.in_rows)]
        return [name for name in rows if name in tensors]

    def load_state(self, tensors: dict[str, Tensor], record: dict[str, Any]) -> None:
        """Go on from a saved state; one that lacks a part is refused before anything is changed."""
        _check_complete(tensors, record, self.state()[0])
        history = checked_history(record["history"])
        looks = [epoch for epoch in history if self._is_look(epoch)]
        self._check_looks(looks, record["best_epoch"])
        _restore_random_state(tensors["random"])
        self.method.load_state_dict(_under("method/", tensors))
        self.best_weights = _under("best/", tensors)
        self.history, self.looks = history, looks
        self.best = history[record["best_epoch"] - 1] if record["best_epoch"] else None
        if self.optimiser is not None:
            self.optimiser.load_state(_under("optimiser/", tensors))

    def _is_look(self, record: Record) -> bool:
        epoch: int = record["epoch"]
        return epoch % self.recipe.evaluate_every == 0 or epoch == self.recipe.epochs

    def _check_looks(self, looks: Sequence[Record], best: Any) -> None:
        seen = {"validation_accuracy", "validation_loss"} if self.num_validation else set()
        if any(not seen <= look.keys() for look in looks):
            raise CorruptFileError("the saved state lacks what was seen of the validation set")
        epochs = [look["epoch"] for look in looks]
        if (type(best) is not int or best not in epochs) if looks else (best is not None):
            raise CorruptFileError("the saved state has no best epoch that fits its history")

    def _just_looked(self) -> bool:
        return bool(self.looks) and self.looks[-1] is self.history[-1]

    def _tell(self, moment: str) -> None:
        for callback in self.callbacks:
            getattr(callback, moment)(self)

    def _require_finite(self, quantities: dict[str, bool]) -> None:
        troubled = self.group.add([not is_finite for is_finite in quantities.values()])
        for name, processes in zip(quantities, troubled, strict=True):
            if processes:
                raise DivergedError(
                    f"training diverged in epoch {len(self.history) + 1}: {name} is not finite; "
                    "try a smaller learning_rate"
                )


def check_trainable(graph: Graph, recipe: Recipe, group: Group = ALONE) -> None:
    """Training needs labels of at least two classes, and a validation set if a rule looks at it."""
    labels = torch.bincount(graph.labels[graph.train], minlength=graph.num_classes).tolist()
    *counts, validation = group.add([*labels, len(graph.validation)])
    classes = [number for number, count in enumerate(counts) if count]
    if len(classes) == 0:
        raise DataError(f"{graph.name}: no node has a training label{_why_none(graph)}")
    if len(classes) == 1:
        only = graph.class_names[classes[0]]
        raise DataError(f"{graph.name}: all training labels are of one class, {only!r}; at least two are needed")
    if not validation and needs_validation(recipe.select, recipe.stop):
        raise DataError(
            f"{graph.name}: the validation set is empty, but select = {recipe.select!r} and stop = {recipe.stop!r} "
            "need one; use --set select=last --set stop=never"
        )


def _why_none(graph: Graph) -> str:
    labelled = int((graph.labels >= 0).sum())
    found = f", though {labelled} have a label: the split puts none of them into the training set" if labelled else ""
    return "".join([found, *(f". {text}" for text in graph.reader_notices)])


def _backward_of_sum(terms: Iterable[LossTerm]) -> None:
    """Gradients of the whole objective: the scales of the terms are what the backward pass begins with."""
    roots = [(term.sum, term.sum.new_full((), term.scale)) for term in terms if term.sum.requires_grad]
    torch.autograd.backward([value for value, _ in roots], [scale for _, scale in roots])


def _check_complete(tensors: dict[str, Tensor], record: dict[str, Any], own: dict[str, Tensor]) -> None:
    parts = record.get("parts")
    listed = [str(part) for part in parts] if isinstance(parts, list) else []
    missing = {"history", "best_epoch", "parts"} - record.keys() or set(listed) - tensors.keys()
    if missing:
        raise CorruptFileError(f"the saved state lacks {brief(', '.join(sorted(missing)[:3]))}")
    expected = {name: tensor for name, tensor in own.items() if not name.startswith("best/") and name != NODES}
    if _under("best/", tensors):
        expected |= {f"best/{name}": tensor for name, tensor in _under("method/", own).items()}
    unknown = tensors.keys() - expected.keys() - {NODES}
    if unknown:
        raise CorruptFileError(f"the saved state holds {brief(min(unknown))}: it is that of another version or method")
    for name, tensor in expected.items():
        if name not in tensors or (tensors[name].shape, tensors[name].dtype) != (tensor.shape, tensor.dtype):
            raise CorruptFileError(f"the saved state has no {name} that fits: it is that of another version or method")
    if "optimiser/steps" in expected and int(tensors["optimiser/steps"]) < 0:
        raise CorruptFileError("the saved state says that fewer than no steps were taken")


def _restore_random_state(state: Tensor) -> None:
    try:
        torch.set_rng_state(state)
    except RuntimeError as error:
        raise CorruptFileError(f"the saved state of the random numbers is none ({brief(error)})") from None


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
