"""The paper and nothing else: Confidence-based Graph Convolutional Networks (AISTATS 2019)."""
