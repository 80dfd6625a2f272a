"""One training in several processes: a graph in shards, what they exchange, and what happens when one of them ends."""
