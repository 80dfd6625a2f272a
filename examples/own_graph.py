"""A graph of one's own: two CSV files go in; a table of labels, and a page to read in a browser, come out."""

from collections import Counter
from csv import DictReader
from dataclasses import replace
from pathlib import Path

from confgcn import RunRequest, load_graph, train
from confgcn.data.formats.registry import write_graph
from confgcn.data.raw import raw_from_graph
from confgcn.runs.report import write_report

# Yours lie there already: edges.csv with source and target; nodes.csv with id, label where it is known, split if there
# is one, and a column per feature.
papers = raw_from_graph(load_graph("demo"))
commonest = papers.features.sum(axis=0).argsort()[-500:]  # of the words
papers = replace(papers, features=papers.features[:, commonest])
for file in write_graph(papers, Path("papers"), overwrite=True):
    with file.open() as table:
        print(f"{file.name}: {next(table).strip()[:40]} ... {next(table).strip()[:40]}")

# The same by command: confgcn train papers --epochs 100 --out papers_run
request = RunRequest(Path("papers"), overrides={"epochs": 100}, out=Path("papers_run"), if_exists="overwrite")
summary = train(request, notify=print)
print(f"{summary['test_accuracy']:.1%} of the papers that were held out get their true label")

with Path("papers_run", "predictions.csv").open(newline="") as table:
    rows = [row for row in DictReader(table) if row["split"] != "train"]
accepted = Counter(row["label"] for row in rows if row["accepted"] == "yes")
decision = summary["runs"][0]["decisions"][0]
print(f"accepted at an error of at most {decision['max_error']:.0%}, by label:")
for label, count in accepted.most_common():
    print(f"  {label:<24} {count:>5,}")
unsure = min(rows, key=lambda row: float(row["probability"]))
print(f"least sure: paper {unsure['node']}, {unsure['label']} ({float(unsure['probability']):.0%})")

# confgcn report papers_run
page, _ = write_report(Path("papers_run"))
print(f"open {page} in a browser")
