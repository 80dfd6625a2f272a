"""Train on the built-in graph with three seeds, and read the predictions of the first run."""

from confgcn import RunRequest, load_run, train

summary = train(RunRequest(graph="demo", seeds=3), notify=print)
print(f"test accuracy {summary['test_accuracy']:.1%} ± {summary['test_accuracy_std']:.1%}")

run = load_run(summary["run_dir"] + "/seed-0")
print(f"node {run.graph.node_names[0]}: {dict(zip(run.graph.class_names, run.probabilities[0].tolist(), strict=True))}")
