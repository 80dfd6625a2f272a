"""A graph of one's own: two CSV files go in; a table of labels, and a page to read in a browser, come out."""

from collections import Counter
from csv import DictReader
from pathlib import Path

from confgcn import RunRequest, load_graph, train
from confgcn.data.graph_output import write_graph
from confgcn.data.raw import raw_from_graph
from confgcn.experiments.report import write_report

# Yours would lie there already: edges.csv with source and target, nodes.csv with id, label and a column per feature.
for file in write_graph(raw_from_graph(load_graph("demo")), Path("papers"), write=Path.write_bytes, overwrite=True):
    print(f"{file}: {file.read_text()[:60].splitlines()[0]} ...")

request = RunRequest(Path("papers"), overrides={"epochs": 60}, out=Path("papers_run"), if_exists="overwrite")
summary = train(request, notify=print)
print(f"test accuracy {summary['test_accuracy']:.1%}")

with Path("papers_run", "predictions.csv").open(newline="") as table:
    rows = list(DictReader(table))
print(rows[0])
