"""Graph, method, recipe and loop put together by hand: label papers, and show the least and the most certain."""

from confgcn import ConfGCN, load_graph
from confgcn.data.transforms import scale_features
from confgcn.models.base import Shape
from confgcn.training.loop import TrainingLoop
from confgcn.training.recipe import Recipe
from confgcn.training.seed import seeded

graph = scale_features(load_graph("demo"), "rows")
with seeded(0):
    method = ConfGCN(Shape.of(graph), dropout=0.2)
    loop = TrainingLoop(method, graph, Recipe(epochs=50))
    loop.fit()

probability, label = loop.predict().raw_probabilities.max(-1)
order = probability[graph.test].argsort()
for node in graph.test[order[[0, 1, -2, -1]]].tolist():
    name, guess = graph.node_names[node], graph.class_names[label[node]]
    print(f"paper {name}: {guess} ({probability[node]:.0%}), in truth {graph.class_names[graph.labels[node]]}")
