"""What the paper prints in its tables (AISTATS 2019); the values of its figures are in pictures alone."""

from __future__ import annotations

GRAPHS = ("citeseer", "cora", "pubmed", "cora_ml")  # the order of Table 2

TABLE_1: dict[str, dict[str, float]] = {
    "cora": {"nodes": 2708, "edges": 5429, "classes": 7, "features": 1433, "mismatch": 0.002, "label_rate": 0.052},
    "cora_ml": {"nodes": 2995, "edges": 8416, "classes": 7, "features": 2879, "mismatch": 0.018, "label_rate": 0.166},
    "citeseer": {"nodes": 3327, "edges": 4372, "classes": 6, "features": 3703, "mismatch": 0.003, "label_rate": 0.036},
    "pubmed": {"nodes": 19717, "edges": 44338, "classes": 3, "features": 500, "mismatch": 0.0, "label_rate": 0.003},
}

# Accuracy in percent and, where it is printed, the standard deviation.
TABLE_2: dict[str, dict[str, tuple[float, float | None]]] = {
    "label_propagation": {"citeseer": (45.3, None), "cora": (68.0, None), "pubmed": (63.0, None)},
    "mani_reg": {"citeseer": (60.1, None), "cora": (59.5, None), "pubmed": (70.7, None)},
    "semi_emb": {"citeseer": (59.6, None), "cora": (59.0, None), "pubmed": (71.1, None)},
    "feat": {"citeseer": (57.2, None), "cora": (57.4, None), "pubmed": (69.8, None)},
    "deepwalk": {"citeseer": (43.2, None), "cora": (67.2, None), "pubmed": (65.3, None)},
    "ggnn": {"citeseer": (68.1, None), "cora": (77.9, None), "pubmed": (77.2, None)},
    "planetoid": {"citeseer": (64.9, None), "cora": (75.7, None), "pubmed": (75.7, None)},
    "gcn": {"citeseer": (69.4, 0.4), "cora": (80.9, 0.4), "pubmed": (76.8, 0.2), "cora_ml": (85.7, 0.3)},
    "gated_gcn": {"citeseer": (69.6, 0.5), "cora": (81.2, 0.4), "pubmed": (77.0, 0.3), "cora_ml": (86.0, 0.2)},
    "gpnn": {"citeseer": (68.1, 1.8), "cora": (79.0, 1.7), "pubmed": (73.6, 0.5), "cora_ml": (69.4, 2.3)},
    "gat": {"citeseer": (72.5, 0.7), "cora": (83.0, 0.7), "pubmed": (79.0, 0.3), "cora_ml": (83.0, 0.8)},
    "confgcn": {"citeseer": (72.7, 0.8), "cora": (82.0, 0.3), "pubmed": (79.5, 0.5), "cora_ml": (86.5, 0.3)},
}
