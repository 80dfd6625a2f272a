"""Two CSV files in, a table of predictions and an HTML report out."""

from collections import Counter
from csv import DictReader
from dataclasses import replace
from pathlib import Path

from confgcn import RunRequest, load_graph, train
from confgcn.data.formats.registry import write_graph
from confgcn.data.raw import raw_from_graph
from confgcn.runs.report import write_report

# In place of your own files: edges.csv with the columns source and target; nodes.csv with id, label where it is known,
# optionally split, and one column per feature (here the 500 most frequent words).
papers = raw_from_graph(load_graph("demo"))
most_frequent = papers.features.sum(axis=0).argsort()[-500:]
papers = replace(papers, features=papers.features[:, most_frequent])
for file in write_graph(papers, Path("papers"), overwrite=True):
    with file.open() as table:
        print(f"{file.name}: {next(table).strip()[:40]} ... {next(table).strip()[:40]}")

# The same as: confgcn train papers --epochs 100 --out papers_run
request = RunRequest(Path("papers"), overrides={"epochs": 100}, out=Path("papers_run"), if_exists="overwrite")
summary = train(request, notify=print)
print(f"test accuracy: {summary['test_accuracy']:.1%}")

with Path("papers_run", "predictions.csv").open(newline="") as table:
    rows = [row for row in DictReader(table) if row["split"] != "train"]
decision = summary["runs"][0]["decisions"][0]
print(f"accepted labels, error at most {decision['max_error']:.0%}:")
for label, count in Counter(row["label"] for row in rows if row["accepted"] == "yes").most_common():
    print(f"  {label:<24} {count:>5,}")
least = min(rows, key=lambda row: float(row["probability"]))
print(f"least certain: paper {least['node']}, {least['label']} ({float(least['probability']):.0%})")

# The same as: confgcn report papers_run
page, _ = write_report(Path("papers_run"))
print(f"open {page} in a browser")
