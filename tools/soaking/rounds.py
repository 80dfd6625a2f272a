"""One round: a plan carried out in peace, then by processes that are stopped and killed; both must end the same."""

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
    """What was done to the processes of a round, and what was wrong with them or with what they left."""

    signals: Counter[str] = field(default_factory=Counter)
    resumes: int = 0
    faults: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Nothing was wrong."""
        return not self.faults and not self.differences

    def judge(self, words: Sequence[str], ended: Ended, allowed: set[int]) -> None:
        """Keep what a command must not do: end otherwise, or with a trace."""
        if ended.code not in allowed or "Traceback" in ended.errors:
            self.faults.append(f"{' '.join(words)}: exit code {ended.code}: {ended.errors[-500:]}")


def play(plan: Plan, folder: Path, random: Random) -> Outcome:
    """Carry out the plan twice below ``folder``, and compare."""
    outcome = Outcome()
    peaceful, disturbed = folder / "peaceful" / "home", folder / "disturbed" / "home"  # a graph is called by its folder
    for home in (peaceful, disturbed):
        home.mkdir(parents=True)
        write_graph(home)
    seconds = [carry_out(plan, words, peaceful, outcome) for words in plan.commands]
    for words, usual in zip(plan.commands, seconds, strict=True):
        disturb(plan, words, disturbed, usual, random, outcome)
        carry_out(plan, words, disturbed, outcome)
    outcome.differences = differences(peaceful, disturbed)
    return outcome


def carry_out(plan: Plan, words: tuple[str, ...], home: Path, outcome: Outcome) -> float:
    """A command to its end, as often as it may have been begun before; the seconds it took."""
    ended = start(resuming(plan, words, home), home, seconds_between_saves=plan.seconds_between_saves).wait()
    outcome.judge(words, ended, {0})
    if words == plan.train and (home / plan.run / "metrics.json").is_file():
        os.utime(home / plan.run / "metrics.json", (0, 0))  # a report says on which day the run ended
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
        outcome.judge(again, ended, {0, 128 + number, -number})
        outcome.signals[number.name] += ended.code in (128 + number, -number)
        outcome.resumes += "--resume" in again


def resuming(plan: Plan, words: tuple[str, ...], home: Path) -> tuple[str, ...]:
    """The command with what it takes to go on, if its run has begun."""
    return (*words, "--resume") if words == plan.train and (home / "run").is_dir() else words
