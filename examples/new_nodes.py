"""Papers that arrive after training: labelled with the weights as they are, without training again."""

from time import perf_counter

import networkx as nx
import numpy as np

from confgcn import ConfGCNClassifier, load_graph
from confgcn.data.formats.objects.networkx import to_networkx

papers = to_networkx(load_graph("demo"))
truth = nx.get_node_attributes(papers, "label")
late = set(np.random.default_rng(0).choice(sorted(papers), len(papers) // 20, replace=False).tolist())

# What is known at first: the other papers, the citations among them, and the labels of some.
classifier = ConfGCNClassifier(settings={"epochs": 100})
classifier.fit(papers.subgraph(set(papers) - late))
print(f"trained on {len(classifier.nodes_):,} papers: {classifier.score():.1%} of the labels it has not used are right")

# What comes later: their words, and citations to papers that are known by name, and among each other.
arrived = nx.Graph(papers.edge_subgraph(papers.edges(late)))
for name in arrived:
    del arrived.nodes[name]["label"]
started = perf_counter()
found = dict(zip(arrived, classifier.predict(arrived), strict=True))
seconds = perf_counter() - started
right = sum(found[name] == truth[name] for name in late) / len(late)
print(f"{right:.1%} of {len(late)} papers that arrived later are right, {1000 * seconds / len(late):.1f} ms for each")

sets = dict(zip(arrived, classifier.predict_set(arrived, coverage=0.9), strict=True))
held = sum(truth[name] in sets[name] for name in late) / len(late)
print(f"sets of labels that are to hold the true one of 90% hold that of {held:.1%}:")
for name in sorted(late, key=int)[:3]:
    print(f"  paper {name}: {' or '.join(sets[name])}")
