"""One module per format of graphs, for reading and writing."""
