"""The largest numbers a request may hold; known to the command line before anything heavy is imported."""

from __future__ import annotations

MAX_SEED = 2**62
MAX_SEEDS = 10_000
MAX_SPLIT_SEED = 2**31 - 1 - MAX_SEEDS  # numpy's frozen generator takes 32 bits, and runs count up from it
MAX_THREADS = 1024
MAX_SHARDS = 10_000
MAX_WORKERS = 1_000
