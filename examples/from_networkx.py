"""A networkx graph with node attributes: train on it and write the predictions to its nodes."""

import networkx as nx

from confgcn import ConfGCNClassifier, load_graph
from confgcn.data.formats.objects.networkx import to_networkx

papers = to_networkx(load_graph("demo"))  # names of nodes are texts, the words are the attribute "x"
truth = nx.get_node_attributes(papers, "label")
for _, attributes in papers.nodes(data=True):
    topic = attributes.pop("label")
    if attributes.pop("split", None) in ("train", "validation"):
        attributes["topic"] = topic

# Half of the known topics are held out: to choose settings, to calibrate the probabilities and to certify.
classifier = ConfGCNClassifier(settings={"epochs": 100}, validation=0.5).fit(papers, "x", "topic", notify=print)
nx.set_node_attributes(papers, dict(zip(classifier.nodes_, classifier.predict(), strict=True)), "predicted")
probability = dict(zip(classifier.nodes_, classifier.predict_proba().max(1), strict=True))

unknown = [name for name, attributes in papers.nodes(data=True) if "topic" not in attributes]
accuracy = sum(papers.nodes[name]["predicted"] == truth[name] for name in unknown) / len(unknown)
print(f"accuracy on {len(unknown):,} papers without a topic: {accuracy:.1%}")

rank = nx.pagerank(papers)
print("the most central of them:")
for name in sorted(unknown, key=rank.get, reverse=True)[:5]:
    predicted = papers.nodes[name]["predicted"]
    print(f"  paper {name}: {predicted} ({probability[name]:.0%}), true topic {truth[name]}")
print(f"assortativity of the predicted topics: {nx.attribute_assortativity_coefficient(papers, 'predicted'):.2f}")
