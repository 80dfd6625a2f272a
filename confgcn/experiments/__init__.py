"""Where data, methods, training and evaluation are joined: presets, runs over seeds, and later the paper's tables."""
