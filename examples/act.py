"""From a finished run to actions: prediction sets, a decision at a given error rate, an explanation of one label."""

from pathlib import Path
from tempfile import TemporaryDirectory

from confgcn import RunRequest, load_run, train
from confgcn.confidence.decisions import decide
from confgcn.confidence.prediction_sets import PredictionSets

with TemporaryDirectory() as folder:
    # Half of the validation labels choose the epoch and the temperature; the other half is kept for exact guarantees.
    overrides = {"held_back_validation": 0.5, "epochs": 60}
    train(RunRequest(graph="demo", overrides=overrides, out=Path(folder) / "run"), notify=print)
    run = load_run(Path(folder) / "run")

graph, probabilities = run.prepared, run.probabilities
chosen_by = set(graph.validation.tolist())
kept = run.graph.validation
kept = kept[[node not in chosen_by for node in kept.tolist()]]

confidence, predicted = probabilities.max(1)
correct = predicted[kept] == graph.labels[kept]
print(decide(confidence[kept], correct, confidence[graph.test], max_error=0.1).as_record())

sets = PredictionSets.fit(graph, probabilities, kept, coverage=0.9).sets(graph, probabilities)
print(f"mean number of labels in a set: {sets[graph.test].double().mean(0).sum():.2f}")

node = int(graph.test[0])
explanation = run.explain(graph.node_names[node])
print(f"paper {graph.node_names[node]}: {graph.class_names[explanation.label]}")
for effect in explanation.effects[:3]:
    print(f"  {effect.name} changes its log-probability by {float(effect.change[explanation.label]):+.3f}")
