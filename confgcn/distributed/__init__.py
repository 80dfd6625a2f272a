"""One training in several processes: a graph in shards, what they exchange, and how the loss of a worker is handled."""
