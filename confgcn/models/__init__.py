"""The contract of a model (base), the table of models (registry), ConfGCN and the baselines."""
