"""Figure 1, the motivating picture, for a real node: one that Kipf-GCN predicts wrongly and ConfGCN correctly.

Whether the influences are the reason is tested on the trained model: is the node lost when they are made uniform?
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch

from confgcn.data.load import load_graph
from confgcn.evaluation.groups import neighbour_label_entropy
from confgcn.exceptions import DivergedError
from confgcn.graph import Graph
from confgcn.io.atomic_files import write_atomic
from confgcn.io.json_files import read_json, to_json
from confgcn.io.threads import computing_with
from confgcn.models.base import Prediction
from confgcn.runs.train import trained_loop
from confgcn.training.loop import TrainingLoop
from reproduction.formatting import Numbers, decimal, percent, plain
from reproduction.jobs import Scope, Variant, digest, graph_key, settings_key, split_seed_of
from reproduction.node_comparison import ModelComparison
from reproduction.plots import new_figure
from reproduction.rendering import ClaimCheck, Table, outcome_of
from reproduction.results import Results
from reproduction.table2 import GCN, PAPER, RELEASED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOTE = (
    "The width of an edge is its weight relative to the mean of the neighbourhood. The picture shows a node that "
    "visibly uneven influences correct, if there is one; otherwise a node that Kipf-GCN predicts wrongly and ConfGCN "
    "correctly, in the most mixed neighbourhood."
)
DATASETS = ("demo",)
PRESETS = (RELEASED, PAPER)
DRAWABLE = range(3, 9)  # degrees of nodes whose neighbours can be distinguished in a picture
PREFERENCES = (ModelComparison.visibly_gained_by_influence, ModelComparison.gained, ModelComparison.any_node)
COUNTED = ("gcn_wrong_confgcn_right", "lost_without_influence", "right_without_influence")
SMALLEST_SHARE = 0.001  # that a percentage with one digit can show

RADIUS = 1.0  # of the circle of neighbours
NODE_SIZE = 0.16
LINE_WIDTH = 3.0  # of an edge of mean weight, in points
BAR_HEIGHT = 0.3  # of the largest confidence

SeedResult = dict[str, Any]


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Per data set the counts over all seeds, and one node with its neighbours.

    The models are trained here. The result of every seed is stored under its hash, in the same file.
    """
    file = results.file("figure1")
    before = read_json(file) if file.is_file() else {}
    by_seed: dict[str, SeedResult] = before.get("seeds", {})
    can_compare = scope.selected([GCN]) and scope.selected(PRESETS)
    wanted = [(dataset, seed) for dataset in scope.datasets_or(DATASETS) for seed in range(scope.seeds) if can_compare]
    keys = {(dataset, seed): seed_key(scope, dataset, seed) for dataset, seed in wanted}
    for (dataset, seed), key in keys.items():
        if key not in by_seed:
            by_seed[key] = _train_and_compare(scope, dataset, seed)
            write_atomic(file, to_json({"seeds": by_seed, "datasets": before.get("datasets", {})}))
    datasets = {dataset: [by_seed[key] for (name, _), key in keys.items() if name == dataset] for dataset, _ in wanted}
    return {
        "seeds": by_seed,
        "datasets": {name: _combined(results_of_seeds) for name, results_of_seeds in datasets.items()},
    }


def seed_key(scope: Scope, dataset: str, seed: int) -> str:
    """The hash of everything that the result of a seed depends on."""
    graph = graph_key(dataset, split_seed_of(dataset, seed), scope.data_dir)
    return digest([dataset, seed, graph, *(settings_key(variant, dataset) for variant in (GCN, *PRESETS))])


def _train_and_compare(scope: Scope, dataset: str, seed: int) -> SeedResult:
    graph = load_graph(dataset, data_dir=scope.data_dir, split_seed=split_seed_of(dataset, seed))
    comparisons = _comparisons(graph, seed)
    return {
        "counts": [asdict(comparison.counts()) for comparison in comparisons],
        "candidates": [candidate for comparison in comparisons if (candidate := _candidate(comparison)) is not None],
    }


def _combined(seeds: list[SeedResult]) -> dict[str, Any]:
    """All counts, and the first of the most preferred candidates."""
    candidates = [candidate for seed in seeds for candidate in seed["candidates"]]
    return {
        "counts": [counts for seed in seeds for counts in seed["counts"]],
        "shown": min(candidates, key=lambda candidate: int(candidate["preference"]), default=None),
    }


def _comparisons(graph: Graph, seed: int) -> list[ModelComparison]:
    """One for each preset whose training does not diverge."""
    gcn = _trained(graph, GCN, seed)
    comparisons = [] if gcn is None else [_comparison(graph, preset, seed, gcn.predict()) for preset in PRESETS]
    return [comparison for comparison in comparisons if comparison is not None]


def _comparison(graph: Graph, preset: Variant, seed: int, gcn: Prediction) -> ModelComparison | None:
    loop = _trained(graph, preset, seed)
    if loop is None:
        return None
    control = loop.method.with_uniform_influence()
    assert control is not None
    return ModelComparison(preset.title, seed, graph, gcn, loop.predict(), control.predict(loop.visible))


def _trained(graph: Graph, variant: Variant, seed: int) -> TrainingLoop | None:
    with computing_with(1):
        try:
            return trained_loop(graph, variant.settings(graph.name), seed=seed)
        except DivergedError:
            return None


def _candidate(comparison: ModelComparison) -> dict[str, Any] | None:
    """A drawable node by order of preference, and among equals the one in the most mixed neighbourhood.

    None where every node has too many or too few neighbours.
    """
    degrees = comparison.graph.degrees
    drawable = (degrees >= DRAWABLE.start) & (degrees < DRAWABLE.stop)
    for preference, is_candidate in enumerate(PREFERENCES):
        candidates = is_candidate(comparison) & drawable
        if bool(candidates.any()):
            node = int(torch.where(candidates, neighbour_label_entropy(comparison.graph), -1.0).argmax())
            shown = comparison.describe_node(node)
            return {"preference": preference, "preset": comparison.title, "seed": comparison.seed, "node": shown}
    return None


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table per data set: the numbers in the picture."""
    return {dataset: _table(shown) for dataset, shown in _shown(numbers).items()}


def _shown(numbers: Numbers) -> dict[str, Any]:
    """Data sets with a node to show."""
    return {dataset: summary["shown"] for dataset, summary in numbers["datasets"].items() if summary["shown"]}


def _table(shown: Numbers) -> Table:
    node = shown["node"]
    true, wrong = node["labels"]
    header = ["", "true label", "weight in Kipf-GCN", "influence", f"score of {true}", f"of {wrong}"]
    header += [f"precision of {true}", f"of {wrong}"]
    rows = [_row(neighbour) for neighbour in node["neighbours"]]
    return Table(
        f"Node {node['name']} and its neighbours; weights and influences relative to their mean.", header, rows
    )


def _row(neighbour: dict[str, Any]) -> list[str]:
    name = "the node" if neighbour["is_node"] else neighbour["name"]
    weights = [decimal(neighbour["gcn_weight"], 3), decimal(neighbour["influence"], 5)]
    pairs = [decimal(value, 4) for key in ("scores", "precision") for value in neighbour[key]]
    return [name, neighbour["true_label"], *weights, *pairs]


def check_claims(numbers: Numbers) -> list[ClaimCheck]:
    """Do the influences correct nodes? The claim holds if at least half of the gained nodes are due to them."""
    cases, sentences = [], []
    for dataset, summary in numbers["datasets"].items():
        for preset in dict.fromkeys(count["preset"] for count in summary["counts"]):
            counts = [count for count in summary["counts"] if count["preset"] == preset]
            gained, lost, won = (sum(count[key] for count in counts) for key in COUNTED)
            cases.append(lost >= gained / 2 > 0)
            sentences.append(
                f"Over {len(counts)} runs of {preset} on {dataset}, ConfGCN predicts {gained} test nodes correctly "
                f"that Kipf-GCN predicts wrongly (counted once per run). With uniform influences in the trained model, "
                f"{lost} of them are lost (half would make the claim hold) and {won} others are gained."
            )
    sentences += [_description(summary) for summary in _shown(numbers).values()]
    claim = "Figure 1: the influences correct nodes that Kipf-GCN predicts wrongly."
    return [ClaimCheck(claim, outcome_of(cases), " ".join(sentences))]


def _description(shown: Numbers) -> str:
    node = shown["node"]
    largest = max(abs(neighbour["influence"] - 1.0) for neighbour in node["neighbours"])
    deviation = percent(largest) if largest >= SMALLEST_SHARE else f"{100 * largest:.1g}"
    is_same = node["uniform_prediction"]["label"] == node["confgcn_prediction"]["label"]
    return (
        f"The picture shows node {node['name']} in run {shown['seed']} of {shown['preset']}: the largest deviation of "
        f"an influence from the mean of its neighbourhood is {deviation} %, and with uniform influences ConfGCN "
        f"predicts {'the same label' if is_same else 'another label'}."
    )


def draw(numbers: Numbers) -> Figure | None:
    """Left Kipf-GCN, right ConfGCN; the darker a node, the larger the score of the wrong label."""
    shown = _shown(numbers)
    if not shown:
        return None
    figure, axes = new_figure(rows=len(shown), columns=2)
    for (left, right), (dataset, example) in zip(axes, shown.items(), strict=True):
        node = example["node"]
        _draw_panel(left, node, weight="gcn_weight", scores="gcn_scores", bars=False)
        _draw_panel(right, node, weight="influence", scores="scores", bars=True)
        left.set_title(f"Kipf-GCN predicts {_predicted(node['gcn_prediction'])}", fontsize=8)
        right.set_title(f"{plain(example['preset'])} predicts {_predicted(node['confgcn_prediction'])}", fontsize=8)
        true, wrong = node["labels"]
        left.set_xlabel(f"a: node {node['name']} of {dataset},\ntrue label {true}", fontsize=8)
        right.set_xlabel(f"shade: scores, bars: precisions,\nof {true} (white) and {wrong} (black)", fontsize=8)
    return figure


def _predicted(prediction: Numbers) -> str:
    return f"{prediction['label']} ({percent(prediction['probability'], 0)} %)"


def _draw_panel(axis: Axes, node: Numbers, *, weight: str, scores: str, bars: bool) -> None:
    axis.set(xlim=(-1.9, 1.9), ylim=(-1.4, 1.3), aspect="equal", xticks=[], yticks=[])
    for spine in axis.spines.values():
        spine.set_visible(False)
    neighbours = sorted(node["neighbours"], key=lambda neighbour: not neighbour["is_node"])
    highest = max(value for neighbour in neighbours for value in neighbour["precision"])
    for place, neighbour in enumerate(neighbours):
        angle = 2 * math.pi * (place - 1) / max(1, len(neighbours) - 1)
        x, y = (0.0, 0.0) if neighbour["is_node"] else (RADIUS * math.cos(angle), RADIUS * math.sin(angle))
        axis.plot([0, x], [0, y], color="black", lw=LINE_WIDTH * neighbour[weight], zorder=1, solid_capstyle="butt")
        _draw_node(axis, x, y, neighbour, scores)
        if bars:
            _draw_bars(axis, x, y, neighbour["precision"], highest)


def _draw_node(axis: Axes, x: float, y: float, neighbour: Numbers, scores: str) -> None:
    from matplotlib.patches import Circle

    own, other = neighbour[scores]
    share = other / (own + other) if own + other > 0 else 0.5
    shade = 1.0 - min(1.0, max(0.0, share))
    axis.add_patch(Circle((x, y), NODE_SIZE, facecolor=str(shade), edgecolor="black", zorder=2))
    if neighbour["is_node"]:
        axis.text(x, y, "a", ha="center", va="center", fontsize=8, color="white" if shade < 0.5 else "black", zorder=3)
    else:
        text, below = neighbour["true_label"].replace("_", "\n"), y - NODE_SIZE - 0.05
        axis.text(x, below, text, ha="center", va="top", fontsize=5.5, zorder=3)


def _draw_bars(axis: Axes, x: float, y: float, precision: list[float], highest: float) -> None:
    for step, (value, colour) in enumerate(zip(precision, ("white", "black"), strict=True)):
        height = BAR_HEIGHT * max(0.0, value) / highest if highest > 0 else 0.0
        left = x + NODE_SIZE + 0.07 + 0.09 * step
        axis.bar(left, height, width=0.08, bottom=y, color=colour, edgecolor="black", lw=0.6, zorder=3)
