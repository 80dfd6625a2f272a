"""The trained candidates of an unfinished search, in files: a resumed search does not train them again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from confgcn.exceptions import CorruptFileError, brief
from confgcn.io.tensor_files import read_tensors, write_tensors
from confgcn.runs.search import Search, Train, Trained, Trial
from confgcn.training.history import checked_history
from confgcn.training.seed import seeded

LOGITS = "logits"


class SavedCandidates:
    """Trained candidates in a folder, a pair of files each; ``notify`` receives a notice about each damaged one."""

    def __init__(self, folder: Path, notify: Callable[[str], None]) -> None:
        self.folder, self.notify = folder, notify

    def training(self, search: Search, train: Train) -> Train:
        """What reads a candidate of the search, or trains it with ``train`` and writes it."""

        def read_or_train(trial: Trial) -> Trained:
            stem = self.folder / f"candidate-{trial.number:02d}"
            if stem.with_suffix(".json").is_file():
                try:
                    return read_candidate(stem, search, trial)
                except CorruptFileError as error:
                    self.notify(f"{brief(error)}; the candidate is trained again")
            trained = train(trial)
            self.folder.mkdir(exist_ok=True)
            write_candidate(stem, trained)
            return trained

        return read_or_train


def write_candidate(stem: Path, trained: Trained) -> None:
    """The weights, the logits of the held-out labels, the history and the settings of a candidate."""
    tensors = {**trained.method.state_dict(), LOGITS: trained.logits.contiguous()}
    write_tensors(stem, tensors, {**_identity(trained.trial), "history": trained.history, "best": trained.best})


def read_candidate(stem: Path, search: Search, trial: Trial) -> Trained:
    """Read what :func:`write_candidate` wrote; the files of another candidate are an error."""
    tensors, record = read_tensors(stem)
    settings = search.settings_of(trial)
    with seeded(search.seed):  # the weights drawn here are replaced; the caller's random state is not advanced
        method = search.new_method(trial, settings)
    try:
        if {key: record[key] for key in _identity(trial)} != _identity(trial):
            raise ValueError("other settings")
        logits, history, best = tensors.pop(LOGITS), checked_history(record["history"]), record["best"]
        method.load_state_dict(tensors)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CorruptFileError(f"{stem}.json: not the candidate {trial.name} ({brief(error)})") from None
    return Trained(trial, settings.model, method, history, best, logits)


def _identity(trial: Trial) -> dict[str, object]:
    return {"name": trial.name, "settings": dict(trial.candidate.changes)}
