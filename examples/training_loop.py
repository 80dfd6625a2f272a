"""Build one model and a training loop yourself, without search, calibration and run directories."""

from confgcn import ConfGCN, load_graph
from confgcn.models.base import Shape
from confgcn.training.loop import TrainingLoop
from confgcn.training.recipe import Recipe
from confgcn.training.seed import seeded

graph = load_graph("demo")
with seeded(0):
    model = ConfGCN(Shape.of(graph), order=4)  # walks of four steps
    loop = TrainingLoop(model, graph, Recipe(epochs=60, evaluate_every=10))
    loop.fit()

print(f"validation accuracy of the selected epoch: {loop.best['validation_accuracy']:.1%}")
probability, label = loop.predict().raw_probabilities.max(-1)  # not calibrated
order = probability[graph.test].argsort()
for node in graph.test[order[[0, 1, -2, -1]]].tolist():
    predicted, truth = graph.class_names[label[node]], graph.class_names[graph.labels[node]]
    print(f"paper {graph.node_names[node]}: {predicted} (raw probability {probability[node]:.0%}), true topic {truth}")
