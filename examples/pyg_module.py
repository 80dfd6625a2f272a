"""A ConfGCN model as a module of PyTorch Geometric: train it and explain a prediction with PyG's Explainer."""

import torch
from torch_geometric.explain import Explainer, GNNExplainer

from confgcn import load_graph
from confgcn.data.formats.objects.pyg import to_pyg
from confgcn.nn import ConfGCN

torch.manual_seed(0)
torch.set_num_threads(1)  # more threads are slower where other programs run
data = to_pyg(load_graph("demo"))
model = ConfGCN(data.num_features, 32, len(data.class_names))
optimiser = torch.optim.Adam(model.parameter_groups(), lr=0.01)
for _ in range(60):
    optimiser.zero_grad()
    terms = model.loss(model.views(data.x, data.edge_index), data.y, data.train_mask)
    sum(terms.values()).backward()
    optimiser.step()

model.eval()
with torch.no_grad():
    probabilities = model(data.x, data.edge_index).softmax(1)
predicted = probabilities.argmax(1)
accuracy = (predicted == data.y)[data.test_mask].float().mean()
print(f"test accuracy: {accuracy:.1%}")

explainer = Explainer(
    model,
    GNNExplainer(epochs=30),
    explanation_type="model",
    edge_mask_type="object",
    model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
)
paper = int(data.test_mask.nonzero()[0])
edge_mask = explainer(data.x, data.edge_index, index=paper).edge_mask
print(f"paper {data.node_names[paper]}: {data.class_names[predicted[paper]]} ({probabilities[paper].max():.0%})")
incoming = (data.edge_index[1] == paper).nonzero().squeeze(1)
for edge in incoming[edge_mask[incoming].argsort(descending=True)][:3].tolist():
    print(f"  message from paper {data.node_names[data.edge_index[0, edge]]}: importance {edge_mask[edge]:.2f}")
