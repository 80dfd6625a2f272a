"""Labels that somebody got wrong: give some papers a false topic, and see how far up the list of suspects they are."""

from confgcn import ConfGCNClassifier, load_graph
from confgcn.data.perturbations import flip_training_labels

demo = load_graph("demo")
spoilt = flip_training_labels(demo, 0.1, seed=0)
wrong = set((spoilt.labels != demo.labels).nonzero().squeeze(1).tolist())
print(f"{len(wrong)} of {len(demo.train)} papers to learn from have a false label")

truth = [demo.class_names[label] for label in demo.labels]
for what, graph in (("true labels", demo), ("some false", spoilt)):
    classifier = ConfGCNClassifier(settings={"epochs": 100}).fit(graph)
    print(f"{what}: {classifier.score(y=truth):.1%} of the other papers are right")

suspects = classifier.run_.assessment.label_errors
ranked = suspects.nodes.tolist()
caught = wrong.intersection(ranked[: len(wrong)])
print(f"{len(caught)} of the first {len(wrong)} suspects are false; the first:")
for node, given, proposed, score in list(zip(ranked, suspects.given, suspects.proposed, suspects.score, strict=True))[
    :8
]:
    question = f"{demo.class_names[given]} or rather {demo.class_names[proposed]}?"
    print(f"  paper {demo.node_names[node]}: {question} {score:+.1f}, {'false' if node in wrong else 'as it was'}")
