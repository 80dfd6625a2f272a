"""An assessment: each of its fields equals the result of the function that computes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.confidence import calibration as module
from confgcn.confidence.assessment import Assessment, assess
from confgcn.confidence.calibration import Calibration, fit_calibration, fit_flattening, flattened
from confgcn.confidence.calibrators import CalibrationInputs
from confgcn.confidence.decisions import DELTA, MAX_ERROR, decide
from confgcn.confidence.label_errors import find_disagreeing_edges, find_label_errors
from confgcn.confidence.novelty import novelty
from confgcn.confidence.prediction_sets import COVERAGE, PredictionSets, degree_groups
from confgcn.data.held_out import divide
from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.models.base import Prediction
from confgcn.models.prior import reached_by_labels

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
    """Mostly correct and overconfident; equally confident on the path, where it is wrong half the time."""
    generator = torch.Generator().manual_seed(1)
    truth = torch.eye(graph.num_classes)[graph.labels]
    truth[400::2] = truth[400::2].roll(1, dims=1)
    logits = 6 * truth + 3 * torch.randn(graph.num_nodes, graph.num_classes, generator=generator)
    return Prediction(logits, influence=torch.rand(graph.adjacency.num_entries, generator=generator))


@pytest.fixture
def assessment(graph: Graph, prediction: Prediction) -> Assessment:
    return assess(graph, prediction, graph.validation)


def on_unlabelled(graph: Graph, probabilities: Tensor) -> Tensor:
    return probabilities[~reached_by_labels(graph)].max(1).values


def test_probabilities_are_calibrated_and_flattened_in_unlabelled_components(
    graph: Graph, prediction: Prediction, assessment: Assessment
) -> None:
    calibration = fit_calibration(graph, prediction, graph.validation)
    plain = calibration.calibrator.log_probabilities(CalibrationInputs.of(graph, prediction)).exp()
    unlabelled = ~reached_by_labels(graph)
    assert unlabelled[400:].all()
    assert assessment.calibration == calibration
    assert assessment.calibration.flattening > 0
    torch.testing.assert_close(assessment.probabilities[~unlabelled], plain[~unlabelled], rtol=1e-12, atol=0)
    assert on_unlabelled(graph, assessment.probabilities).mean() < on_unlabelled(graph, plain).mean() - 0.1
    assert torch.equal(assessment.probabilities.argmax(1), prediction.logits.argmax(1))


def test_sets_and_decision_are_those_of_the_calibrated_probabilities(graph: Graph, assessment: Assessment) -> None:
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


def test_novelty_label_errors_and_edges_are_those_of_the_calibrated_probabilities(
    graph: Graph, prediction: Prediction, assessment: Assessment
) -> None:
    assert torch.equal(assessment.novelty, novelty(graph, assessment.probabilities))
    assert torch.equal(assessment.label_errors.nodes, find_label_errors(graph, assessment.probabilities).nodes)
    edges = find_disagreeing_edges(graph, assessment.probabilities, prediction.influence)
    assert torch.equal(assessment.disagreeing_edges.disagreement, edges.disagreement)
    assert torch.equal(assessment.disagreeing_edges.influence, edges.influence)


def test_certifying_labels_size_the_sets_and_certify_while_the_others_calibrate(
    graph: Graph, prediction: Prediction
) -> None:
    choosing, certifying = divide(graph.validation, graph.labels[graph.validation])
    found = assess(graph, prediction, choosing, certifying=certifying)
    assert found.calibration == fit_calibration(graph, prediction, choosing)
    groups = degree_groups(graph, certifying)
    sets = PredictionSets.fit(graph, found.probabilities, certifying, coverage=COVERAGE, groups=groups)
    assert torch.equal(found.sets, sets.sets(graph, found.probabilities))
    confidence, predicted = found.probabilities.max(1)
    correct = (predicted == graph.labels)[certifying]
    expected = decide(confidence[certifying], correct, confidence[found.candidates])
    assert found.decision.as_record() == expected.as_record()
    assert found.decision.held_out_labels == len(certifying)
    assert not found.decision.is_approximate
    assert not found.with_max_error(0.2, 0.3).decision.is_approximate


def test_without_certifying_labels_the_decision_is_approximate(graph: Graph, prediction: Prediction) -> None:
    for certifying in (None, NO_NODES):
        found = assess(graph, prediction, graph.validation, certifying=certifying)
        assert found.decision.is_approximate
        assert found.with_max_error(0.2, 0.3).decision.is_approximate


def test_certifying_labels_change_neither_probabilities_nor_calibration(graph: Graph, prediction: Prediction) -> None:
    choosing, certifying = divide(graph.validation, graph.labels[graph.validation])
    changed = graph.labels.clone()
    changed[certifying] = (changed[certifying] + 1) % graph.num_classes
    other = replace(graph, labels=changed)
    one, two = (assess(g, prediction, choosing, certifying=certifying) for g in (graph, other))
    assert one.calibration == two.calibration
    for name in ("probabilities", "novelty"):
        assert torch.equal(getattr(one, name), getattr(two, name))
    assert not torch.equal(one.sets, two.sets)
    assert one.decision.as_record() != two.decision.as_record()


def test_without_held_out_nodes_nothing_is_calibrated_or_certified(graph: Graph, prediction: Prediction) -> None:
    found = assess(graph, prediction, NO_NODES)
    unlabelled = ~reached_by_labels(graph)
    assert found.calibration.name == "none"
    torch.testing.assert_close(found.probabilities[~unlabelled], prediction.logits[~unlabelled].double().softmax(1))
    assert on_unlabelled(graph, found.probabilities).tolist() == pytest.approx([0.25] * int(unlabelled.sum()), abs=2e-3)
    assert found.sets is None
    assert found.decision is None
    assert found.novelty.shape == (graph.num_nodes,)
    assert len(found.label_errors.nodes) == len(graph.train)


def test_only_labels_of_held_out_and_training_nodes_are_used(graph: Graph, prediction: Prediction) -> None:
    known = torch.cat([graph.train, graph.validation])
    labels = torch.full_like(graph.labels, -1).index_copy(0, known, graph.labels[known])
    hidden = replace(graph, labels=labels)
    one, other = (assess(g, prediction, graph.validation) for g in (graph, hidden))
    assert torch.equal(one.probabilities, other.probabilities)
    assert torch.equal(one.sets, other.sets)
    assert torch.equal(one.decision.accepted, other.decision.accepted)


def test_a_calibration_can_be_used_on_other_logits(graph: Graph, prediction: Prediction) -> None:
    calibration = fit_calibration(graph, prediction, graph.validation)
    shifted, flat = Prediction(prediction.logits + 5), Prediction(torch.zeros_like(prediction.logits))
    torch.testing.assert_close(calibration.probabilities(graph, shifted), calibration.probabilities(graph, prediction))
    uniform = calibration.probabilities(graph, flat)
    torch.testing.assert_close(uniform, torch.full_like(uniform, 1 / graph.num_classes))


def test_other_targets_need_no_further_prediction(graph: Graph, prediction: Prediction, assessment: Assessment) -> None:
    for held_out in (None, Prediction(prediction.logits.roll(1, dims=1))):
        found = assess(graph, prediction, graph.validation, held_out=held_out)
        sets = assess(graph, prediction, graph.validation, held_out=held_out, coverage=0.5).sets
        assert torch.equal(found.with_coverage(graph, 0.5).sets, sets)
        decision = assess(graph, prediction, graph.validation, held_out=held_out, max_error=0.2, delta=0.3).decision
        assert found.with_max_error(0.2, 0.3).decision.as_record() == decision.as_record()


def test_predictions_without_the_label_decide_calibration_sets_and_decision(
    graph: Graph, prediction: Prediction
) -> None:
    # the model is confident on its training nodes; without their labels it is no better than chance
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
    assert len(found.candidates) == 0
    assert found.accepted.tolist() == [False] * graph.num_nodes


def test_candidates_are_the_nodes_that_were_not_trained_on(graph: Graph, assessment: Assessment) -> None:
    trained = set(graph.train.tolist())
    assert assessment.candidates.tolist() == [node for node in range(graph.num_nodes) if node not in trained]
    assert int(assessment.accepted.sum()) == int(assessment.decision.accepted.sum()) > 0


@pytest.mark.parametrize("rows", [1, 50, 1000])
def test_blocks_of_rows_are_calibrated_like_all_at_once(
    graph: Graph, prediction: Prediction, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK_ROWS", rows)
    calibration: Calibration = fit_calibration(graph, prediction, graph.validation)
    log_probabilities = calibration.calibrator.log_probabilities(CalibrationInputs.of(graph, prediction))
    unlabelled = ~reached_by_labels(graph)
    held_out = torch.isin(unlabelled.nonzero().squeeze(1), graph.validation).nonzero().squeeze(1)
    assert (
        calibration.flattening == fit_flattening(log_probabilities[unlabelled], graph.labels[unlabelled], held_out) > 0
    )
    expected = flattened(log_probabilities, unlabelled, calibration.flattening).exp()
    assert torch.equal(calibration.probabilities(graph, prediction), expected)
