"""In the manner of scikit-learn: fit on an adjacency, features and labels; then labels, sets, decisions and reasons."""

from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp

from confgcn import ConfGCNClassifier, load_graph

demo = load_graph("demo")
ends = demo.neighbours.rows.numpy(), demo.neighbours.indices.numpy()
adjacency = sp.csr_matrix((np.ones(len(ends[0])), ends), shape=(demo.num_nodes, demo.num_nodes))
words, truth, topics = demo.features.to_scipy(), demo.labels.numpy(), demo.class_names
labels = np.full(len(truth), -1)  # unknown, but for these papers:
labels[demo.train] = truth[demo.train]
labels[demo.validation] = truth[demo.validation]

classifier = ConfGCNClassifier(settings={"epochs": 100}, validation=0.5).fit(adjacency, words, labels)
print(f"{classifier.score(y=truth):.1%} of the papers whose label it was not given get the true one")

probabilities, sets = classifier.predict_proba(), classifier.predict_set(coverage=0.9)
unknown = labels == -1
holds = np.array([label in held for label, held in zip(truth, sets, strict=True)])
print(f"its sets of labels hold the true one of {holds[unknown].mean():.1%}: 90% were asked for")

accepted, message = classifier.decide(max_error=0.1)
right = (classifier.predict() == truth)[unknown & accepted]
print(f"{message}; of those whose label it was not given {right.mean():.1%} are right")

paper = int(demo.test[0])
explanation = classifier.explain(paper)
print(f"paper {paper} is about {topics[explanation.label]} ({probabilities[paper].max():.0%})")
for effect in explanation.effects[:3]:
    change = float(effect.change[explanation.label])
    print(f"  paper {effect.name} changes the log-probability of that by {change:+.3f}")

with TemporaryDirectory(dir=".") as folder:
    classifier.save(f"{folder}/run")
    again = ConfGCNClassifier.load(f"{folder}/run")
print(f"read again, it says the same: {np.array_equal(again.predict_proba(), probabilities)}")
