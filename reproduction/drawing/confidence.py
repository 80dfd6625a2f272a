"""Are the confidences true? What was asked of the default preset, what it reached, and against whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from confgcn.report.figure_style import draw_line, new_figure
from confgcn.report.formatting import NOTHING, Numbers, decimal, has_interval, interval, listed, percent, spread
from reproduction.tables import Table
from reproduction.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTE = (
    "Preset `consensus` is the default. *Scaled*: by one temperature, fitted on the validation nodes. *Calibrated*: by "
    "whichever of the temperatures of docs/confidence.md the folds of the validation nodes speak for, and with caution "
    "where no label speaks; for the baselines the table has the scaled figures, which is what the literature compares "
    "with. *Mixed* graphs have random edges between classes added, half as many as there were. Differences are paired "
    "over seeds, with the interval that the page's rule describes."
)
APART = 0.24
SCORES = (
    ("accuracy, %", "test_accuracy", percent),
    ("with influences made uniform", "uniform_accuracy", percent),
    ("log loss, raw", "nll", decimal),
    ("scaled", "scaled_nll", decimal),
    ("calibrated", "calibrated_nll", decimal),
    ("Brier, scaled", "scaled_brier", decimal),
    ("calibrated", "calibrated_brier", decimal),
    ("ECE, scaled, %", "scaled_ece", percent),
    ("its floor", "scaled_ece_floor", percent),
    ("AUROC of the confidence, scaled", "scaled_auroc_correct", decimal),
    ("calibrated", "calibrated_auroc_correct", decimal),
    ("AURC, calibrated", "calibrated_aurc", decimal),
    ("AUROC of the precision", "auroc_precision", decimal),
)
Judgement = Callable[[Numbers, Numbers, Numbers], "tuple[str, bool | None]"]


def tables(numbers: Numbers) -> dict[str, Table]:
    """What was asked, then every group of runs."""
    return {
        "asked": _asked(numbers),
        **{f"methods {dataset}": _methods(numbers, dataset) for dataset in numbers["datasets"]},
        "mixed": _mixed(numbers),
        "sets": _sets(numbers),
        "scores of sets": _scores_of_sets(numbers),
        "decisions": _decisions(numbers),
        "ablations": _ablations(numbers),
    }


def verdicts(numbers: Numbers) -> list[Verdict]:
    """None: the paper measures no confidence."""
    return []


def _mean(cell: Numbers | None, name: str) -> float | None:
    found = None if cell is None else cell.get(name)
    return None if found is None else found["mean"]


def _asked(numbers: Numbers) -> Table:
    own = numbers["methods"][0]["cells"]
    rows = [[title, *(_judge(numbers, dataset, own[dataset], judge) for dataset in own)] for title, judge in ASKED]
    made = f"{numbers['runs']:,} runs, {listed(numbers['dates'])}" if numbers["runs"] else "no runs"
    caption = f"What was asked of the default preset ({made}): the number, and whether it is reached."
    return Table(caption, ["", *own], rows)


def _judge(numbers: Numbers, dataset: str, cell: Numbers | None, judge: Judgement) -> str:
    if cell is None:
        return NOTHING
    text, reached = judge(numbers, numbers["differences"][dataset], {"dataset": dataset, **cell})
    return text if reached is None else f"{text} {'✓' if reached else '✗'}"


def _cell_of(numbers: Numbers, group: str, dataset: str, row: int = 0) -> Numbers | None:
    cell: Numbers | None = numbers[group][row]["cells"][dataset]
    return cell


def _accuracy(numbers: Numbers, differences: Numbers, cell: Numbers) -> tuple[str, bool | None]:
    difference = differences["released"]
    reached = None if difference is None else difference["mean"] >= 0
    return f"{spread(cell['test_accuracy'])}, {interval(difference)}", reached


def _not_below(name: str) -> Judgement:
    def judge(numbers: Numbers, differences: Numbers, cell: Numbers) -> tuple[str, bool | None]:
        difference = differences[name]
        return interval(difference), difference["high"] >= 0 if has_interval(difference) else None

    return judge


def _mixed_gain(numbers: Numbers, differences: Numbers, cell: Numbers) -> tuple[str, bool | None]:
    difference = differences["mixed_uniform"]
    return interval(difference), None if difference is None else difference["mean"] >= numbers["asked"]["mixed"]


def _mu(numbers: Numbers, differences: Numbers, cell: Numbers) -> tuple[str, bool | None]:
    difference = differences["mu"]
    return interval(difference), None if difference is None else difference["mean"] >= -numbers["asked"]["mu"]


def _edges(numbers: Numbers, differences: Numbers, cell: Numbers) -> tuple[str, bool | None]:
    found = _mean(cell, "auroc_edge")
    text = f"{decimal(found)} (by distance {decimal(_mean(cell, 'auroc_distance'))})"
    return text, None if found is None else found >= numbers["asked"]["edge"]


def _against_both(name: str, *, more_is_better: bool) -> Judgement:
    def judge(numbers: Numbers, differences: Numbers, cell: Numbers) -> tuple[str, bool | None]:
        pairs = [differences[f"{name}_{other}"] for other in ("gcn", "gat")]
        if None in pairs:
            return NOTHING, None
        means = [pair["mean"] for pair in pairs]
        text = f"{decimal(_mean(cell, f'calibrated_{name}'), 3)} ({', '.join(f'{m:+.3f}' for m in means)})"
        return text, all(mean >= 0 if more_is_better else mean < 0 for mean in means)

    return judge


def _calibration(numbers: Numbers, differences: Numbers, cell: Numbers) -> tuple[str, bool | None]:
    error, floor = _mean(cell, "calibrated_ece"), _mean(cell, "calibrated_ece_floor")
    if error is None or floor is None:
        return NOTHING, None
    return f"{percent(error)} (floor {percent(floor)})", error <= floor + numbers["asked"]["ece"]


def _coverage(numbers: Numbers, differences: Numbers, cell: Numbers) -> tuple[str, bool | None]:
    sets = _cell_of(numbers, "sets", cell["dataset"])
    if sets is None:
        return NOTHING, None
    names = [(f"{score}_{level}", level / 100) for score in numbers["scores_of_sets"] for level in numbers["coverages"]]
    worst = max(abs(sets[f"coverage_{name}"]["mean"] - target) for name, target in names)
    by_degree = max(sets[f"miss_{name}"]["mean"] for name, _ in names)
    reached = worst <= numbers["asked"]["coverage"] and by_degree <= numbers["asked"]["by_degree"]
    return f"{percent(worst)} / {percent(by_degree)} off", reached


def _silent(numbers: Numbers, differences: Numbers, cell: Numbers) -> tuple[str, bool | None]:
    own, least, right = (_mean(cell, name) for name in ("silent_confidence", "next_confidence", "silent_accuracy"))
    if own is None or least is None:
        return "no such nodes", None
    return f"{percent(own)} (next {percent(least)}; right {percent(right)})", own < least


def _flips(numbers: Numbers, differences: Numbers, cell: Numbers) -> tuple[str, bool | None]:
    found = _mean(_cell_of(numbers, "flipped", cell["dataset"]), "found_flips")
    return percent(found), None if found is None else found >= numbers["asked"]["flips"]


ASKED: tuple[tuple[str, Judgement], ...] = (
    ("accuracy, and less that of `released`", _accuracy),
    ("learned less uniform influence, trained each way", _not_below("uniform")),
    ("the same on mixed graphs", _mixed_gain),
    ("accuracy of the largest mu less that of the prediction", _mu),
    ("AUROC of the influence for edges within a label", _edges),
    (
        "AUROC of the confidence (less Kipf-GCN's and GAT's)",
        _against_both("auroc_correct", more_is_better=True),
    ),
    ("log loss (less Kipf-GCN's and GAT's)", _against_both("nll", more_is_better=False)),
    ("Brier score (less Kipf-GCN's and GAT's)", _against_both("brier", more_is_better=False)),
    ("ECE, calibrated, %", _calibration),
    ("coverage of sets, worst score and target / worst degree group", _coverage),
    ("confidence where no label is in the component, %", _silent),
    ("flipped labels among the most suspicious, %", _flips),
)


def _methods(numbers: Numbers, dataset: str) -> Table:
    rows = []
    for row in numbers["methods"]:
        cell = row["cells"][dataset]
        rows.append([row["title"], *(form(_mean(cell, name)) for _, name, form in SCORES)])
    return Table(f"{dataset}: every method, means over seeds.", ["", *(title for title, *_ in SCORES)], rows)


def _mixed(numbers: Numbers) -> Table:
    rows = [
        [row["title"], *(NOTHING if cell is None else spread(cell["test_accuracy"]) for cell in row["cells"].values())]
        for row in numbers["mixed"]
    ]
    edges = [decimal(_mean(_cell_of(numbers, "mixed", d), "auroc_edge")) for d in numbers["datasets"]]
    over = [interval(numbers["differences"][dataset]["mixed_gat"]) for dataset in numbers["datasets"]]
    rows += [["`consensus` less GAT", *over], ["AUROC of its influence for edges within a label", *edges]]
    return Table("On mixed graphs: test accuracy in percent.", ["", *numbers["datasets"]], rows)


def _sets(numbers: Numbers) -> Table:
    score, level = numbers["scores_of_sets"][0], numbers["coverages"][0]
    names = [f"coverage_{score}_{level}", f"size_{score}_{level}", f"worst_by_degree_{score}_{level}"]
    rows = []
    for row in numbers["sets"]:
        cells = [[_mean(cell, name) for name in names] for cell in row["cells"].values()]
        rows.append([row["title"], *(f"{percent(c)} / {decimal(s)} / {percent(w)}" for c, s, w in cells)])
    caption = (
        f"Prediction sets for {level} % ({score} score): coverage, mean size, and coverage of the worst degree group "
        "where every group has its own quantile."
    )
    return Table(caption, ["", *numbers["datasets"]], rows)


def _scores_of_sets(numbers: Numbers) -> Table:
    own = numbers["sets"][0]["cells"]
    rows = [
        [
            f"{score}, {level} %",
            *(
                f"{percent(_mean(cell, f'coverage_{score}_{level}'))} / {decimal(_mean(cell, f'size_{score}_{level}'))}"
                for cell in own.values()
            ),
        ]
        for level in numbers["coverages"]
        for score in numbers["scores_of_sets"]
    ]
    return Table("Prediction sets of `consensus` by score: coverage and mean size.", ["", *own], rows)


def _decisions(numbers: Numbers) -> Table:
    own = numbers["methods"][0]["cells"]
    rows = []
    for level in numbers["errors"]:
        for words, name in (("test nodes accepted, %", "accepted"), ("of them wrong, %", "error")):
            rows.append(
                [f"at most {level} % wrong: {words}", *(percent(_mean(c, f"{name}_{level}")) for c in own.values())]
            )
    return Table("Decisions of `consensus`, certified on the validation nodes.", ["", *own], rows)


def _ablations(numbers: Numbers) -> Table:
    names = ("test_accuracy", "mu_accuracy", "calibrated_nll", "auroc_edge")
    cells_of_all = [cell for row in numbers["ablations"] for cell in row["cells"].values() if cell]
    counts = sorted({str(cell["runs"]) for cell in cells_of_all}) or ["no"]
    rows = []
    for row in numbers["ablations"]:
        cells = [[_mean(cell, name) for name in names] for cell in row["cells"].values()]
        rows.append(
            [row["title"], *(f"{percent(a)} / {percent(m)} / {decimal(n, 3)} / {decimal(e)}" for a, m, n, e in cells)]
        )
    caption = (
        f"`consensus` with one mechanism changed, {listed(counts)} seeds: accuracy of the prediction, of the largest "
        "mu, calibrated log loss, AUROC of the influence."
    )
    return Table(caption, ["", *numbers["ablated_on"]], rows)


def draw(numbers: Numbers) -> Figure | None:
    """Learned and uniform influence, on the graphs as they are and mixed."""
    figure, (axes,) = new_figure(rows=1, columns=2)
    names = list(numbers["datasets"])
    for axis, group, title in zip(axes, ("methods", "mixed"), ("as they are", "mixed"), strict=True):
        for place, words in enumerate(("learned influence", "every influence uniform")):
            cells = [_cell_of(numbers, group, name, place) for name in names]
            places = [number + APART * (place - 0.5) for number in range(len(names))]
            shown = [None if cell is None else cell["test_accuracy"] for cell in cells]
            draw_line(axis, places, shown, place, 1, words, joined=False)
        axis.set(xlim=(-0.5, len(names) - 0.5), ylabel="test accuracy, %", title=f"neighbourhoods {title}")
        axis.set_xticks(range(len(names)), names)
        axis.margins(y=0.3)
    axes[0].legend(frameon=False, loc="upper left", fontsize=7)
    return figure
