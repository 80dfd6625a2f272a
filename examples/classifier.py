"""The interface of scikit-learn: fit on an adjacency matrix, features and labels; then use the predictions."""

from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp

from confgcn import ConfGCNClassifier, load_graph

demo = load_graph("demo")
ends = demo.neighbours.rows.numpy(), demo.neighbours.indices.numpy()
adjacency = sp.csr_matrix((np.ones(len(ends[0])), ends), shape=(demo.num_nodes, demo.num_nodes))
words, truth, topics = demo.features.to_scipy(), demo.labels.numpy(), demo.class_names
labels = np.full(len(truth), -1)  # unknown, except for these papers:
labels[demo.train] = truth[demo.train]
labels[demo.validation] = truth[demo.validation]

classifier = ConfGCNClassifier(settings={"epochs": 100}, validation=0.5).fit(adjacency, words, labels)
print(f"accuracy on the unlabelled papers: {classifier.score(y=truth):.1%}")

probabilities, sets = classifier.predict_proba(), classifier.predict_set(coverage=0.9)
unknown = labels == -1
contained = np.array([label in labels_of_set for label, labels_of_set in zip(truth, sets, strict=True)])
print(f"prediction sets that contain the true topic: {contained[unknown].mean():.1%} (target: 90%)")

accepted, message = classifier.decide(max_error=0.1)
correct = (classifier.predict() == truth)[unknown & accepted]
print(f"{message}; accuracy of the accepted labels: {correct.mean():.1%}")

paper = int(demo.test[0])
explanation = classifier.explain(paper)
print(f"paper {paper}: {topics[explanation.label]} ({probabilities[paper].max():.0%})")
for effect in explanation.effects[:3]:
    change = float(effect.change[explanation.label])
    print(f"  paper {effect.name} changes its log-probability by {change:+.3f}")

with TemporaryDirectory(dir=".") as folder:
    classifier.save(f"{folder}/run")
    loaded = ConfGCNClassifier.load(f"{folder}/run")
print(f"the loaded model predicts the same: {np.array_equal(loaded.predict_proba(), probabilities)}")
