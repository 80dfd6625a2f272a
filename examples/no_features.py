"""A graph without features: compute features from its edges."""

import numpy as np
import scipy.sparse as sp

from confgcn import ConfGCNClassifier, load_graph

demo = load_graph("demo")
ends = demo.neighbours.rows.numpy(), demo.neighbours.indices.numpy()
citations = sp.csr_matrix((np.ones(len(ends[0])), ends), shape=(demo.num_nodes, demo.num_nodes))
truth = np.array(demo.class_names)[demo.labels]
topics = np.full(demo.num_nodes, "", dtype=object)  # unknown, except for these papers:
for known in (demo.train, demo.validation):
    topics[known] = truth[known]
print(f"{(topics != '').sum()} of {demo.num_nodes:,} papers have a topic; there are no words, only citations")

most_frequent = max(set(truth), key=list(topics).count)
print(f"accuracy of the most frequent topic: {(truth == most_frequent)[topics == ''].mean():.1%}")

# "degree": the number of citations. "positional": how often a random walk from a paper reaches each of some landmarks.
for feature in ("degree", "positional"):
    classifier = ConfGCNClassifier(settings={"epochs": 100}, add_features=[feature], validation=0.5)
    classifier.fit(citations, y=topics)
    print(f"accuracy with the feature {feature!r}: {classifier.score(y=truth):.1%}")
