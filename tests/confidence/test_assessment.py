"""One look at the held-out labels: its parts are those that can be had one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.confidence import assessment as module
from confgcn.confidence.assessment import COVERAGE, DELTA, MAX_ERROR, Assessment, assess, scaling
from confgcn.confidence.calibration import covariates_of, fit_calibration
from confgcn.confidence.caution import be_cautious, fit_caution, silent_nodes
from confgcn.confidence.decisions import decide
from confgcn.confidence.novelty import novelty
from confgcn.confidence.prediction_sets import PredictionSets, degree_groups
from confgcn.confidence.suspicion import suspicious_edges, suspicious_labels
from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.models.base import Prediction

NO_NODES = torch.empty(0, dtype=torch.long)


@pytest.fixture
def graph() -> Graph:
    """A block model, and beside it a path of twelve nodes without a training label, half of them held out."""
    block = block_model(400, seed=3, validation=120, test=100)
    edges = torch.stack([block.neighbours.indices, block.neighbours.rows], 1).numpy()
    path = np.array([(node, node + 1) for node in range(400, 411)])
    everybody = [*range(400), *range(12)]
    return Graph.build(
        np.concatenate([edges, path]),
        block.features[everybody].numpy(),
        block.labels[everybody].numpy(),
        train=block.train.numpy(),
        validation=[*block.validation.tolist(), *range(400, 406)],
        test=[*block.test.tolist(), *range(406, 412)],
    )


@pytest.fixture
def prediction(graph: Graph) -> Prediction:
    """Mostly right, sharper than it should be, and just as sure of the path, where it is wrong half the time."""
    generator = torch.Generator().manual_seed(1)
    truth = torch.eye(graph.num_classes)[graph.labels]
    truth[400::2] = truth[400::2].roll(1, dims=1)
    logits = 6 * truth + 3 * torch.randn(graph.num_nodes, graph.num_classes, generator=generator)
    return Prediction(logits, influence=torch.rand(graph.adjacency.num_entries, generator=generator))


@pytest.fixture
def assessment(graph: Graph, prediction: Prediction) -> Assessment:
    return assess(graph, prediction, graph.validation)


def on_silent(graph: Graph, probabilities: Tensor) -> Tensor:
    return probabilities[silent_nodes(graph)].max(1).values


def test_probabilities_are_calibrated_and_cautious_where_no_label_speaks(
    graph: Graph, prediction: Prediction, assessment: Assessment
) -> None:
    covariates = covariates_of(graph, prediction)
    calibration = fit_calibration(prediction.logits, graph.labels, graph.validation, covariates)
    plain = calibration.apply(prediction.logits, covariates).exp()
    silent = silent_nodes(graph)
    assert silent[400:].all()
    assert assessment.calibration == calibration
    assert assessment.caution > 0
    torch.testing.assert_close(assessment.probabilities[~silent], plain[~silent], rtol=1e-12, atol=0)
    assert on_silent(graph, assessment.probabilities).mean() < on_silent(graph, plain).mean() - 0.1
    assert torch.equal(assessment.probabilities.argmax(1), prediction.logits.argmax(1))


def test_sets_and_decision_are_those_of_the_cautious_probabilities(graph: Graph, assessment: Assessment) -> None:
    held_out, probabilities = graph.validation, assessment.probabilities
    groups = degree_groups(graph, held_out)
    fitted = PredictionSets.fit(graph, probabilities, held_out, coverage=COVERAGE, groups=groups)
    assert torch.equal(assessment.sets, fitted.sets(graph, probabilities))
    confidence, predicted = probabilities.max(1)
    correct = (predicted == graph.labels)[held_out]
    others = torch.tensor([node for node in range(graph.num_nodes) if node not in set(graph.train.tolist())])
    expected = decide(confidence[held_out], correct, confidence[others], max_error=MAX_ERROR, delta=DELTA)
    assert assessment.decision.threshold == expected.threshold is not None
    assert torch.equal(assessment.accepted[others], expected.accepted)
    assert not assessment.accepted[graph.train].any()
    assert 0.8 < float(assessment.sets[graph.test].gather(1, graph.labels[graph.test, None]).double().mean()) < 1


def test_doubts_are_those_of_the_cautious_probabilities(
    graph: Graph, prediction: Prediction, assessment: Assessment
) -> None:
    assert torch.equal(assessment.novelty, novelty(graph, assessment.probabilities))
    assert torch.equal(assessment.labels.nodes, suspicious_labels(graph, assessment.probabilities).nodes)
    edges = suspicious_edges(graph, assessment.probabilities, prediction.influence)
    assert torch.equal(assessment.edges.disagreement, edges.disagreement)
    assert torch.equal(assessment.edges.influence, edges.influence)


def test_without_held_out_nodes_nothing_is_scaled_promised_or_claimed(graph: Graph, prediction: Prediction) -> None:
    found = assess(graph, prediction, NO_NODES)
    silent = silent_nodes(graph)
    assert found.calibration.name == "none"
    torch.testing.assert_close(found.probabilities[~silent], prediction.logits[~silent].double().softmax(1))
    assert on_silent(graph, found.probabilities).tolist() == pytest.approx([0.25] * int(silent.sum()), abs=2e-3)
    assert found.sets is None
    assert found.decision is None
    assert found.novelty.shape == (graph.num_nodes,)
    assert len(found.labels.nodes) == len(graph.train)


def test_only_labels_of_held_out_and_training_nodes_are_looked_at(graph: Graph, prediction: Prediction) -> None:
    known = torch.cat([graph.train, graph.validation])
    labels = torch.full_like(graph.labels, -1).index_copy(0, known, graph.labels[known])
    hidden = replace(graph, labels=labels)
    one, other = (assess(g, prediction, graph.validation) for g in (graph, hidden))
    assert torch.equal(one.probabilities, other.probabilities)
    assert torch.equal(one.sets, other.sets)
    assert torch.equal(one.decision.accepted, other.decision.accepted)


def test_a_scaling_can_be_used_on_other_logits(graph: Graph, prediction: Prediction) -> None:
    scale = scaling(graph, prediction, graph.validation)
    torch.testing.assert_close(scale.probabilities(prediction.logits + 5), scale.probabilities(prediction.logits))
    flat = scale.probabilities(torch.zeros_like(prediction.logits))
    torch.testing.assert_close(flat, torch.full_like(flat, 1 / graph.num_classes))


def test_what_a_training_without_their_labels_said_decides_how_far_to_trust(
    graph: Graph, prediction: Prediction
) -> None:
    # of its training nodes the model is sure, since it has seen their labels; held out it did no better than by chance
    held_out = Prediction(prediction.logits.roll(1, dims=1))
    logits = prediction.logits.index_copy(0, graph.train, 20 * torch.eye(graph.num_classes)[graph.train_labels])
    own = assess(graph, Prediction(logits), graph.train)
    honest = assess(graph, Prediction(logits), graph.train, held_out=held_out)
    sure = [found.probabilities[graph.test].max(1).values.mean() for found in (honest, own)]
    assert sure[0] < sure[1] - 0.1
    assert honest.decision.labels_needed > own.decision.labels_needed
    assert honest.sets.sum() > own.sets.sum()
    assert torch.equal(honest.probabilities.argmax(1), logits.argmax(1))


def test_by_default_nine_in_ten_are_covered_and_one_in_twenty_may_be_wrong(
    graph: Graph, prediction: Prediction, assessment: Assessment
) -> None:
    assert (COVERAGE, MAX_ERROR, DELTA) == (0.9, 0.05, 0.1)
    assert (assessment.decision.max_error, assessment.decision.delta) == (0.05, 0.1)
    explicit = assess(graph, prediction, graph.validation, coverage=0.9, max_error=0.05, delta=0.1)
    assert torch.equal(explicit.sets, assessment.sets)
    assert assess(graph, prediction, graph.validation, coverage=0.5).sets.sum() < assessment.sets.sum()


def test_without_other_nodes_there_is_nothing_to_decide(graph: Graph, prediction: Prediction) -> None:
    everybody = replace(graph, train=torch.arange(graph.num_nodes))
    found = assess(everybody, prediction, graph.validation)
    assert found.decision is None
    assert found.sets is not None
    assert len(found.others) == 0
    assert found.accepted.tolist() == [False] * graph.num_nodes


def test_others_are_the_nodes_that_were_not_trained_on(graph: Graph, assessment: Assessment) -> None:
    trained = set(graph.train.tolist())
    assert assessment.others.tolist() == [node for node in range(graph.num_nodes) if node not in trained]
    assert int(assessment.accepted.sum()) == int(assessment.decision.accepted.sum()) > 0


@pytest.mark.parametrize("rows", [1, 50, 1000])
def test_blocks_of_rows_are_scaled_like_all_at_once(
    graph: Graph, prediction: Prediction, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", rows)
    scale, silent = scaling(graph, prediction, graph.validation), silent_nodes(graph)
    whole = scale.calibration.apply(prediction.logits, covariates_of(graph, prediction))
    assert scale.caution == fit_caution(whole, graph.labels, silent, graph.validation) > 0
    expected = be_cautious(whole, silent, scale.caution).exp()
    assert torch.equal(scale.probabilities(prediction.logits), expected)
