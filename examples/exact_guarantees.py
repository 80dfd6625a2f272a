"""Certified prediction sets and decisions: half of the validation labels are used for nothing else."""

from pathlib import Path
from tempfile import TemporaryDirectory

from confgcn import RunRequest, load_run, train

with TemporaryDirectory() as folder:
    # By default one half of the validation labels chooses the settings and calibrates, the other half certifies.
    overrides = {"max_error": 0.1, "epochs": 60}
    train(RunRequest(graph="demo", overrides=overrides, out=Path(folder) / "run"), notify=print)
    run = load_run(Path(folder) / "run")
    graph, assessment = run.prepared, run.assessment

decision = assessment.decision.as_record()
print(f"{len(run.choosing_nodes)} held-out labels chose and calibrated, {len(run.certifying_nodes)} certify")
print(f"accept {decision['accepted']} of {decision['candidates']} papers; certified: {decision['certified']}")

sets = assessment.sets[graph.test]
# On average over random splits at least 90%; in this one the validation papers are easier than the test papers.
contained = sets.gather(1, graph.labels[graph.test, None]).double().mean()
print(
    f"{contained:.1%} of the prediction sets contain the true topic; they have {sets.sum(1).double().mean():.2f} topics"
)
