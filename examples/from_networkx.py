"""A networkx graph whose nodes carry what is known of them: train on it, and put what is found back on its nodes."""

import networkx as nx

from confgcn import ConfGCNClassifier, load_graph
from confgcn.data.formats.objects.networkx import to_networkx

demo = load_graph("demo")
papers = to_networkx(demo)  # nodes are strings, words the attribute "x"
truth = nx.get_node_attributes(papers, "label")
for _, attributes in papers.nodes(data=True):
    topic = attributes.pop("label")
    if attributes.pop("split", None) in ("train", "validation"):
        attributes["topic"] = topic

# Of the papers that have a topic, half choose the epoch and the scale of the probabilities.
classifier = ConfGCNClassifier(settings={"epochs": 100}, validation=0.5).fit(papers, "x", "topic", notify=print)
found = dict(zip(classifier.nodes_, classifier.predict(), strict=True))
sure = dict(zip(classifier.nodes_, classifier.predict_proba().max(1), strict=True))
nx.set_node_attributes(papers, found, "found")
nx.set_node_attributes(papers, sure, "sure")

asked = [name for name, attributes in papers.nodes(data=True) if "topic" not in attributes]
right = sum(papers.nodes[name]["found"] == truth[name] for name in asked) / len(asked)
print(f"{right:.1%} of {len(asked):,} papers without a topic get the true one")

rank = nx.pagerank(papers)
print("the most central of them:")
for name in sorted(asked, key=rank.get, reverse=True)[:5]:
    print(f"  paper {name}: {papers.nodes[name]['found']} ({papers.nodes[name]['sure']:.0%}), in truth {truth[name]}")
print(f"agreement along citations: {nx.attribute_assortativity_coefficient(papers, 'found'):.2f}")
