"""The largest numbers that options may have. Imports nothing, so that the command line starts fast."""

from __future__ import annotations

MAX_SEED = 2**62
MAX_SEEDS = 10_000
MAX_SPLIT_SEED = 2**31 - 1 - MAX_SEEDS  # numpy's RandomState takes 32 bits, and the runs of a study count up from it
MAX_THREADS = 1024
MAX_SHARDS = 10_000
MAX_WORKERS = 1_000
MAX_MEMBERS = 100  # of an ensemble
