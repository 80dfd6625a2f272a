"""Train on the built-in graph with three seeds, and predict again from the first run."""

from confgcn import RunRequest, load_graph, load_run, train

summary = train(RunRequest(graph="demo", seeds=3), notify=print)
print(f"test accuracy {summary['test_accuracy']:.1%} ± {summary['test_accuracy_std']:.1%}")

prediction = load_run(summary["run_dir"] + "/seed-0").predict(load_graph("demo"))
print(f"the first paper's probabilities: {prediction.raw_probabilities[0].tolist()}")
