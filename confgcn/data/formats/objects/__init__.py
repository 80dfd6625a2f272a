"""Graphs as objects of other libraries: one module per library, which is not imported to recognise its objects."""
