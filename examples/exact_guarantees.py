"""Exact guarantees for prediction sets and decisions: fit them to labels that were used for nothing else."""

from pathlib import Path
from tempfile import TemporaryDirectory

from confgcn import RunRequest, load_run, train
from confgcn.confidence.decisions import decide
from confgcn.confidence.prediction_sets import PredictionSets

with TemporaryDirectory() as folder:
    # Half of the validation labels choose the epoch and the temperature; the other half is held back.
    overrides = {"held_back_validation": 0.5, "epochs": 60}
    train(RunRequest(graph="demo", overrides=overrides, out=Path(folder) / "run"), notify=print)
    run = load_run(Path(folder) / "run")
    graph, probabilities, all_validation = run.prepared, run.probabilities, run.graph.validation

used = set(graph.validation.tolist())
held_back = all_validation[[node not in used for node in all_validation.tolist()]]

confidence, predicted = probabilities.max(1)
correct = predicted[held_back] == graph.labels[held_back]
decision = decide(confidence[held_back], correct, confidence[graph.test], max_error=0.1)
print(f"accept {int(decision.accepted.sum())} of {len(graph.test)} test papers, error at most 10% with 90% certainty")

sets = PredictionSets.fit(graph, probabilities, held_back, coverage=0.9).sets(graph, probabilities)[graph.test]
# On average over random splits at least 90%; in this one the validation papers are easier than the test papers.
contained = sets.gather(1, graph.labels[graph.test, None]).double().mean()
print(
    f"{contained:.1%} of the prediction sets contain the true topic; they have {sets.sum(1).double().mean():.2f} topics"
)
