"""Options and settings that cannot be used, from the command line and from files."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
import torch
import typer.main

from confgcn.cli.main import app
from confgcn.exceptions import UsageError
from confgcn.limits import MAX_SEED

if TYPE_CHECKING:
    from tests.faults.conftest import Outside

COMMANDS = typer.main.get_command(app)  # made once: it takes longer than most refusals
SHORT = ("train", "mygraph", "--validation", 0.3, "--epochs", 2, "--out", "run")


@pytest.fixture
def with_graph(outside: Outside) -> Outside:
    outside.write_graph()
    return outside


def refusal(place: Outside, *words: Any) -> str:
    """The error of a command, run in this process: quick, for many similar cases."""
    before = set(place.folder.rglob("*"))
    with contextlib.chdir(place.folder), pytest.raises(UsageError) as caught:
        COMMANDS([str(word) for word in words], standalone_mode=False)
    assert set(place.folder.rglob("*")) == before
    return str(caught.value)


@pytest.mark.fault("N01")
@pytest.mark.parametrize(
    ("assignment", "problem"),
    [
        ("learning_rate=nan", "learning_rate = nan: input should be a finite number"),
        ("learning_rate=-1", "learning_rate = -1: input should be greater than 0"),
        ("hidden_dim=0", "hidden_dim = 0: input should be greater than or equal to 1"),
        ("dropout=1.0", "dropout = 1.0: input should be less than 1"),
        ("dropout=1.5", "dropout = 1.5: input should be less than 1"),
        ("sharpening=0", "sharpening = 0: input should be greater than 0"),
        ("lambda_const=-1", "lambda_const = -1: input should be greater than or equal to 0"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(with_graph: Outside, assignment: str, problem: str) -> None:
    with_graph.refuses(*SHORT, "--set", assignment, code=2, naming=["settings of confgcn (propagated)", problem])


@pytest.mark.fault("N01")
@pytest.mark.parametrize(
    ("assignment", "problem"),
    [
        ("learning_rate=1e7", "learning_rate = 10000000.0: input should be less than or equal to 1000000"),
        ("learning_rate=1e-400", "learning_rate = 0.0: input should be greater than 0"),
        ("learning_rate=\u22121", "learning_rate = '\u22121': input should be a valid number"),
        ("hidden_dim=8.0", "hidden_dim = 8.0: input should be a valid integer"),
        ("influence=1", "influence = 1: input should be 'chosen', 'learned' or 'uniform'"),
        ("patience=true", "patience = True: input should be a valid integer"),
        ("patience=1979-05-27", "patience = datetime.date(1979, 5, 27): input should be a valid integer"),
        ("patience=2\nsharpening=3", r"patience = '2\nsharpening=3': input should be a valid integer"),
        ("a=b=c", "unknown setting 'a'"),
        ("=3", "unknown setting ''"),
        ("dropout", "--set 'dropout': expected NAME=VALUE"),
        (f"sharpening={'9' * 5_000}", "sharpening = '9999"),
        (f"{'g' * 5_000}=1", "unknown setting 'gggg"),
    ],
)
def test_an_unknown_or_invalid_setting_is_refused(with_graph: Outside, assignment: str, problem: str) -> None:
    assert problem in refusal(with_graph, *SHORT, "--set", assignment)


@pytest.mark.fault("N01")
@pytest.mark.parametrize("epochs", [0, -1, 1_000_001, "1e3"])
def test_an_impossible_number_of_epochs_is_refused(with_graph: Outside, epochs: int | str) -> None:
    with_graph.refuses("train", "mygraph", "--epochs", epochs, "--out", "run", code=2, naming=["epochs", str(epochs)])


@pytest.mark.fault("N01")
@pytest.mark.parametrize("share", ["nan", "inf", "-0.1", "1", "half"])
def test_a_share_out_of_range_is_refused(with_graph: Outside, share: str) -> None:
    with_graph.refuses("train", "mygraph", "--validation", share, "--out", "run", code=2, naming=["validation", share])


@pytest.mark.fault("N05")
@pytest.mark.parametrize("seed", ["-1", str(2**64), str(MAX_SEED + 1), "x", "", "1.5", "\uff11"])
def test_an_invalid_seed_is_refused(with_graph: Outside, seed: str) -> None:
    with_graph.refuses(*SHORT, "--seed", seed, code=2, naming=["--seed", f"got {seed!r}", "confgcn train --help"])


@pytest.mark.fault("N05")
@pytest.mark.parametrize("words", [("--seeds", 10**9), ("--seeds", 0), ("--split-seed", 2**32), ("--threads", 0)])
def test_other_numbers_out_of_their_range_are_refused(with_graph: Outside, words: tuple[str, int]) -> None:
    with_graph.refuses(*SHORT, *words, code=2, naming=[words[0], f"got '{words[1]}'"])


@pytest.mark.fault("N05")
def test_the_default_seed_is_zero_and_the_largest_is_accepted(with_graph: Outside) -> None:
    with_graph.accepts(*SHORT)
    assert json.loads((with_graph.folder / "run" / "config.json").read_text())["seed"] == 0
    with_graph.accepts(*SHORT, "--overwrite", "--seed", MAX_SEED)
    assert json.loads((with_graph.folder / "run" / "config.json").read_text())["seed"] == MAX_SEED


@pytest.mark.fault("N06")
@pytest.mark.parametrize(
    ("words", "naming"),
    [
        (("--sede", 1), ["--sede", "--seed"]),
        (("--set", "dropuot=0.1"), ["'dropuot'", "did you mean 'dropout'"]),
        (("--method", "cnfgcn"), ["'cnfgcn'", "did you mean 'confgcn'"]),
        (("--preset", "relased"), ["'relased'", "did you mean 'released'"]),
        (("--influence", "distanse"), ["'distanse'", "'distance'"]),
        (("--add-features", "degre"), ["'degre'", "did you mean 'degree'"]),
        (("--label", "lable"), ["'lable'", "did you mean 'label'"]),
        (("extra", "words"), ["extra words"]),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(
    with_graph: Outside, words: tuple[str, ...], naming: list[str]
) -> None:
    with_graph.refuses(*SHORT, *words, code=2, naming=naming)


@pytest.mark.fault("N06")
@pytest.mark.parametrize(
    ("text", "naming"),
    [
        ("sede = 1", ["'sede'", "did you mean 'seed'"]),
        ("seed = -1", ["seed = -1", "greater than or equal to 0"]),
        ("seed = '1'\nsplit-seed = 'x'", ["split-seed = 'x'", "valid integer"]),
        ("seed = 1.5", ["seed = 1.5", "fractional part"]),
        ("seed = true", ["seed = True", "expected neither true nor false"]),
        ("resume = 1", ["resume = 1", "expected true or false"]),
        ("seed = [1]", ["seed is a list"]),
        ("[seed]\nfirst = 1", ["seed is a table"]),
        ("seed = 1979-05-27T07:32:00Z", ["seed = datetime", "valid integer"]),
        ("seed = 1\nseed = 2\n", ["not a TOML file", "line 2"]),
        ("split_seed = 1\nsplit-seed = 2", ["split-seed is given twice"]),
        ("epochs = 'many'", ["epochs = 'many'", "valid integer"]),
        ("test = inf", ["test share = inf"]),
        ("threads = 1e30", ["threads = 1e+30"]),
        ('out = "a\\u0000b"', ["out = 'a\\x00b'"]),
        ("out = 3", ["out = 3", "valid path"]),
        ("method = 'gnc'", ["method = 'gnc'", "did you mean 'gcn'"]),
        ("config = 'options.toml'", ["'config'"]),
        ("help = true", ["'help'"]),
        ("[settings]\ndropuot = 0.1", ["'dropuot'", "did you mean 'dropout'"]),
        ("[settings]\ndropout = 'x'", ["dropout = 'x'", "valid number"]),
        ("[settings]\nlearning_rate = inf", ["learning_rate = inf", "finite number"]),
        ("[settings]\nsharpening = 2020-01-01", ["sharpening = datetime.date(2020, 1, 1)", "valid number"]),
        ("[settings.sharpening]\na = 1", ["sharpening = {'a': 1}", "valid number"]),
        (f"seed = {'9' * 5_000}", ["not a TOML file", "5000 digits"]),
        (f"'{'k' * 100_000}' = 1", ["'kkkk"]),
        (f"a = {'[' * 50_000}", ["not a TOML file"]),
        ("#" * (2**20 + 1), ["more than 1,048,576 bytes"]),
        ("seed: 1", ["not a TOML file", "line 1"]),
        ('{"seed": 1}', ["not a TOML file", "line 1"]),
    ],
)
def test_an_invalid_file_of_options_is_refused_whatever_options_are_given(
    with_graph: Outside, text: str, naming: list[str]
) -> None:
    with_graph.write("options.toml", text)
    options = ("--seed", 3, "--split-seed", 3, "--threads", 1, "--set", "dropout=0.1", "--set", "sharpening=2")
    message = refusal(with_graph, *SHORT, *options, "--config", "options.toml")
    assert all(part in message for part in ["options.toml", *naming]), message


@pytest.mark.fault("N06")
@pytest.mark.parametrize(
    ("option", "text", "naming"),
    [
        ("--config", "sede = 1", ["'sede'", "did you mean 'seed'"]),
        ("--config", "seed = -1", ["seed = -1", "greater than or equal to 0"]),
        ("--config", "[settings]\ndropuot = 0.1", ["'dropuot'", "did you mean 'dropout'"]),
        ("--config", f"'{'k' * 100_000}' = 1", ["'kkkk"]),
        ("--settings", "sharpning = 0.1", ["'sharpning'", "did you mean 'sharpening'"]),
        ("--settings", "sharpening = 'x'", ["sharpening = 'x'", "valid number"]),
    ],
)
def test_a_misspelt_key_or_a_wrong_type_in_a_file_is_refused(
    with_graph: Outside, option: str, text: str, naming: list[str]
) -> None:
    with_graph.write("options.toml", text)
    with_graph.refuses(*SHORT, option, "options.toml", code=2, naming=["options.toml", *naming])


@pytest.mark.fault("N06")
@pytest.mark.parametrize("option", ["--config", "--settings"])
def test_a_file_of_options_that_cannot_be_read_is_refused(with_graph: Outside, option: str) -> None:
    with_graph.refuses(*SHORT, option, "mygraph", code=4, naming=["mygraph", "directory"])
    with_graph.refuses(*SHORT, option, "none.toml", code=4, naming=["none.toml", "No such file"])
    with_graph.refuses(*SHORT, option, "/dev/zero", code=2, naming=["/dev/zero", "more than 1,048,576 bytes"])


@pytest.mark.fault("N06")
def test_settings_of_a_file_are_combined_with_those_of_the_command_line(with_graph: Outside) -> None:
    with_graph.write("options.toml", "[settings]\nhidden_dim = 5\nsharpening = 2.0\nepochs = 9")
    with_graph.accepts(*SHORT, "--config", "options.toml", "--set", "sharpening=3.0")
    config = json.loads((with_graph.folder / "run" / "config.json").read_text())
    assert (config["model"]["hidden_dim"], config["model"]["sharpening"], config["recipe"]["epochs"]) == (5, 3.0, 2)


@pytest.mark.fault("N06")
@pytest.mark.parametrize(
    ("out", "code", "naming"),
    [
        ("mygraph", 2, ["mygraph: is not empty and holds no run"]),
        (".", 2, ["is not empty and holds no run"]),
        ("mygraph/edges.csv", 2, ["exists and is not a directory"]),
        ("/dev/null", 2, ["/dev/null: exists and is not a directory"]),
        ("mygraph/edges.csv/run", 4, ["edges.csv/run", "Not a directory"]),
        ("a" * 300, 4, ["File name too long"]),
    ],
)
def test_a_place_that_cannot_hold_a_run_is_refused(
    with_graph: Outside, out: str, code: int, naming: Sequence[str]
) -> None:
    with_graph.refuses("train", "mygraph", "--validation", 0.3, "--out", out, code=code, naming=naming)


@pytest.mark.fault("N07")
@pytest.mark.parametrize("option", ["--config", "--settings", "--space"])
@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.mkdir [canary]",
        "seed: !!python/object/apply:os.mkdir [canary]",
        "__import__('os').mkdir('canary')",
        "seed = __import__('os').mkdir('canary')",
        "seed = \"{0.__class__.__init__.__globals__[os].mkdir('canary')}\"",
        'seed = "$(mkdir canary)"',
    ],
)
def test_a_file_with_code_is_data(with_graph: Outside, text: str, option: str) -> None:
    with_graph.write("code.toml", text)
    words = ("tune", "mygraph", "--study", "study.db") if option == "--space" else SHORT
    assert "code.toml" in refusal(with_graph, *words, option, "code.toml")


@pytest.mark.fault("N07")
def test_a_file_with_code_is_refused(with_graph: Outside) -> None:
    with_graph.write("code.yaml", "seed: !!python/object/apply:os.mkdir [canary]")
    with_graph.refuses(*SHORT, "--config", "code.yaml", code=2, naming=["code.yaml", "not a TOML file", "line 1"])


@pytest.mark.fault("N09")
@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_an_unavailable_device_is_refused(with_graph: Outside) -> None:
    with_graph.refuses(*SHORT, "--device", "cuda", code=4, naming=["device = 'cuda'", "not available here"])


@pytest.mark.fault("N09")
@pytest.mark.parametrize("words", [("--device", "gpu"), ("--device", "meta"), ("--set", "device=cuda"), ("--gpu",)])
def test_an_unknown_device_is_refused(with_graph: Outside, words: tuple[str, ...]) -> None:
    with_graph.refuses(*SHORT, *words, code=2, naming=[words[-1].partition("=")[0]])
