"""The same seed gives the same numbers, and the caller's random state is restored."""

from __future__ import annotations

import threading
import time

import pytest
import torch

from confgcn.training.seed import seed_epoch, seeded


def test_the_same_seed_gives_the_same_numbers_and_another_does_not() -> None:
    drawn = []
    for seed in (3, 3, 4):
        with seeded(seed):
            drawn.append(torch.rand(3).tolist())
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("fails", [False, True])
def test_the_callers_random_state_is_restored(fails: bool) -> None:
    before = torch.get_rng_state()
    try:
        with seeded(3):
            torch.rand(3)
            if fails:
                raise ZeroDivisionError
    except ZeroDivisionError:
        assert fails
    assert torch.equal(torch.get_rng_state(), before)


def test_blocks_can_be_nested() -> None:
    with seeded(1):
        expected = torch.rand(2).tolist()
    with seeded(1):
        with seeded(2):
            torch.rand(5)
        assert torch.rand(2).tolist() == expected


def test_threads_take_turns() -> None:
    drawn: dict[int, list[float]] = {}

    def draw(seed: int) -> None:
        with seeded(seed):
            first = torch.rand(1)
            time.sleep(0.01)  # another thread would draw from the same generator now
            drawn[seed] = torch.cat([first, torch.rand(1)]).tolist()

    threads = [threading.Thread(target=draw, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, numbers in drawn.items():
        with seeded(seed):
            assert torch.rand(2).tolist() == numbers


def test_every_epoch_of_every_process_has_its_own_numbers() -> None:
    with seeded(0):
        drawn = {}
        for seed, epoch, rank in ((0, 1, 0), (0, 2, 0), (0, 1, 1), (1, 1, 0), (0, 1, 0)):
            seed_epoch(seed, epoch, rank)
            numbers = tuple(torch.rand(3).tolist())
            assert drawn.setdefault((seed, epoch, rank), numbers) == numbers
    assert len(set(drawn.values())) == 4


def test_large_seeds_and_epochs_are_valid() -> None:
    with seeded(0):
        seed_epoch(2**62, 10**6, 9_999)
        assert 0 <= torch.initial_seed() < 2**63
