"""The HTML report of one run, from numbers that are already computed."""
