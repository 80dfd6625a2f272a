"""Wrong training labels: give some papers a wrong topic and find them again."""

from confgcn import ConfGCNClassifier, load_graph
from confgcn.data.perturbations import flip_training_labels

demo = load_graph("demo")
flipped = flip_training_labels(demo, 0.1, seed=0)
wrong = set((flipped.labels != demo.labels).nonzero().squeeze(1).tolist())
print(f"{len(wrong)} of {len(demo.train)} training papers have a wrong topic")

truth = [demo.class_names[label] for label in demo.labels]
for title, graph in (("correct labels", demo), ("some wrong labels", flipped)):
    classifier = ConfGCNClassifier(settings={"epochs": 100}).fit(graph)
    print(f"accuracy with {title}: {classifier.score(y=truth):.1%}")

errors = classifier.run_.assessment.label_errors  # most probable error first
found = wrong.intersection(errors.nodes[: len(wrong)].tolist())
print(f"{len(found)} of the {len(wrong)} highest scores are wrong labels:")
for rank in range(8):
    node, given, suggested = int(errors.nodes[rank]), errors.given[rank], errors.suggested[rank]
    topics = f"{demo.class_names[given]}, suggested {demo.class_names[suggested]}"
    outcome = "wrong" if node in wrong else "correct"
    print(f"  paper {demo.node_names[node]}: {topics} ({errors.score[rank]:+.1f}), in fact {outcome}")
