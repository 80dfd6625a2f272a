"""The baselines of Table 2: one file each, none importing another."""
