"""Metrics of predictions against labels, independent of any method or file."""
