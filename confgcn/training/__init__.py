"""The one training loop, and what keeps a run: configuration, rules, checkpoints, run directory."""
