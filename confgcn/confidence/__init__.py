"""From a prediction to actions: calibration, prediction sets, decisions, explanations, label errors, novelty."""
