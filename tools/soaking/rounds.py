"""One round: a plan carried out undisturbed, then by processes that are stopped and killed; both must end the same."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from soaking.commands import Ended, start
from soaking.comparison import differences
from soaking.plans import Plan, write_graph

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MOST_OF_A_TRAINING, MOST_OF_ANOTHER = 4, 2  # times that it is disturbed


@dataclass
class Outcome:
    """The signals of a round, and its faults: wrong exit codes, tracebacks and different files."""

    signals: Counter[str] = field(default_factory=Counter)
    resumes: int = 0
    faults: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether there was no fault and no difference."""
        return not self.faults and not self.differences

    def check(self, words: Sequence[str], ended: Ended, allowed: set[int]) -> None:
        """Record a fault if a command ended with another code or a traceback."""
        if ended.code not in allowed or "Traceback" in ended.errors:
            self.faults.append(f"{' '.join(words)}: exit code {ended.code}: {ended.errors[-500:]}")


def play(plan: Plan, folder: Path, random: Random) -> Outcome:
    """Carry out the plan twice below ``folder``, and compare."""
    outcome = Outcome()
    undisturbed, disturbed = (
        folder / "undisturbed" / "home",
        folder / "disturbed" / "home",
    )
    for home in (undisturbed, disturbed):
        home.mkdir(parents=True)
        write_graph(home)
    seconds = [carry_out(plan, words, undisturbed, outcome) for words in plan.commands]
    for words, usual in zip(plan.commands, seconds, strict=True):
        disturb(plan, words, disturbed, usual, random, outcome)
        carry_out(plan, words, disturbed, outcome)
    outcome.differences = differences(undisturbed, disturbed)
    return outcome


def carry_out(plan: Plan, words: tuple[str, ...], home: Path, outcome: Outcome) -> float:
    """Run a command to its end; returns the seconds it took."""
    ended = start(resuming(plan, words, home), home, seconds_between_saves=plan.seconds_between_saves).wait()
    outcome.check(words, ended, {0})
    if words == plan.train and (home / plan.run / "metrics.json").is_file():
        os.utime(home / plan.run / "metrics.json", (0, 0))  # a report shows the date of the run
    return ended.seconds


def disturb(plan: Plan, words: tuple[str, ...], home: Path, usual: float, random: Random, outcome: Outcome) -> None:
    """Begin a command some times, each time with a signal at a random moment of it."""
    most = MOST_OF_A_TRAINING if words == plan.train else MOST_OF_ANOTHER
    for _ in range(random.randrange(1, most + 1)):
        again = resuming(plan, words, home)
        number = random.choice(SIGNALS)
        running = start(again, home, seconds_between_saves=plan.seconds_between_saves)
        running.send(number, after=random.uniform(0, usual))
        ended = running.wait()
        outcome.check(again, ended, {0, 128 + number, -number})
        outcome.signals[number.name] += ended.code in (128 + number, -number)
        outcome.resumes += "--resume" in again


def resuming(plan: Plan, words: tuple[str, ...], home: Path) -> tuple[str, ...]:
    """The command, with the option to resume if its run has begun."""
    return (*words, "--resume") if words == plan.train and (home / "run").is_dir() else words
