"""Where data, methods, training and evaluation are joined: presets, runs over seeds, saved runs, tuning."""
