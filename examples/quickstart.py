"""Label the nodes of the built-in graph, with confidences to act on."""

from confgcn import ConfGCNClassifier, load_graph

graph = load_graph("demo")  # or a folder of CSV files, a networkx or PyG graph, ...
model = ConfGCNClassifier().fit(graph)

print("accuracy on unseen labels:", round(model.score(), 3))
print("node:", model.nodes_[0])
print("label:", model.predict()[0], "with probability", round(model.predict_proba()[0].max(), 3))
print("90 % prediction set:", model.predict_set(coverage=0.9)[0])
print("decision:", model.decide(max_error=0.05).message)
model.save("run")  # predictions.csv, the model and its metrics; `confgcn report run` makes a page of it
