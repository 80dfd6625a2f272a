"""The trained candidates of an unfinished search, in files: a resumed search does not train them again."""

from __future__ import annotations

from pathlib import Path

from confgcn.exceptions import CorruptFileError
from confgcn.io.tensor_files import read_tensors, write_tensors
from confgcn.runs.search import Search, Trained, Trial

LOGITS = "logits"


class SavedCandidates:
    """Trains candidates, or reads those that were trained before, from a folder."""

    def __init__(self, folder: Path, search: Search) -> None:
        self.folder, self.search = folder, search

    def train(self, trial: Trial) -> Trained:
        """Read the candidate, or train it and write it; a damaged file is replaced."""
        stem = self.folder / f"candidate-{trial.number:02d}"
        if stem.with_suffix(".json").is_file():
            try:
                return self._read(stem, trial)
            except CorruptFileError:
                pass
        trained = self.search.train(trial)
        self.folder.mkdir(exist_ok=True)
        tensors = {**trained.method.state_dict(), LOGITS: trained.logits.contiguous()}
        write_tensors(stem, tensors, {"name": trial.name, "history": trained.history, "best": trained.best})
        return trained

    def _read(self, stem: Path, trial: Trial) -> Trained:
        tensors, record = read_tensors(stem)
        settings = self.search.settings_of(trial)
        method = self.search.new_method(trial, settings)
        try:
            logits, history, best = tensors.pop(LOGITS), record["history"], record["best"]
            if record["name"] != trial.name:
                raise KeyError(trial.name)
            method.load_state_dict(tensors)
        except (KeyError, RuntimeError) as error:
            raise CorruptFileError(f"{stem}: not the candidate {trial.name}") from error
        return Trained(trial, settings.model, method, history, best, logits)
