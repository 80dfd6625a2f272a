"""Everything that ends in a Graph: files, objects, synthetic graphs, splits, transforms."""
