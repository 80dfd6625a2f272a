"""Nodes that arrive after training: predict them with the trained weights."""

from time import perf_counter

import networkx as nx
import numpy as np

from confgcn import ConfGCNClassifier, load_graph
from confgcn.data.formats.objects.networkx import to_networkx

papers = to_networkx(load_graph("demo"))
truth = nx.get_node_attributes(papers, "label")
late = set(np.random.default_rng(0).choice(sorted(papers), len(papers) // 20, replace=False).tolist())

# Train on the other papers and the citations between them.
classifier = ConfGCNClassifier(settings={"epochs": 100})
classifier.fit(papers.subgraph(set(papers) - late))
print(f"trained on {len(classifier.nodes_):,} papers; accuracy on unused labels: {classifier.score():.1%}")

# The late papers: their words, and their citations of known papers and of each other.
arrived = nx.Graph(papers.edge_subgraph(papers.edges(late)))
for name in arrived:
    del arrived.nodes[name]["label"]
started = perf_counter()
predicted = dict(zip(arrived, classifier.predict(arrived), strict=True))
milliseconds = 1000 * (perf_counter() - started) / len(late)
accuracy = sum(predicted[name] == truth[name] for name in late) / len(late)
print(f"accuracy on {len(late)} new papers: {accuracy:.1%}, {milliseconds:.1f} ms per paper")

sets = dict(zip(arrived, classifier.predict_set(arrived, coverage=0.9), strict=True))
contained = sum(truth[name] in sets[name] for name in late) / len(late)
print(f"prediction sets that contain the true topic: {contained:.1%} (target: 90%)")
for name in sorted(late, key=int)[:3]:
    print(f"  paper {name}: {' or '.join(sets[name])}")
