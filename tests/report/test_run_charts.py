"""The charts of a run: a sentence, and a table with the numbers of the picture."""

from __future__ import annotations

from typing import Any

from confgcn.report.run_charts import groups, losses, reliability, validation


def test_charts_have_a_description_and_their_numbers(numbers: dict[str, Any]) -> None:
    curves = numbers["quality"]["curves"]
    assert "1 of 2 points lie" in reliability(curves).sentence
    assert reliability(curves).rows[1] == ("9", "90.0 %", "60.0 %", "70.0 to 100.0 %")
    degree, entropy = groups(curves)
    assert [row[0] for row in degree.rows] == ["lowest", "2nd", "highest"]
    assert "group “highest”: confidence 80.0 %, accuracy 70.0 %" in entropy.sentence
    history = numbers["training"]["history"]
    loss, accuracy = losses(history), validation(history, 30)
    assert loss is not None
    assert accuracy is not None
    assert loss.header == ("epoch", "loss", "cross", "reg")
    assert "3 in the first and 0.075 in the last epoch" in loss.sentence
    assert "logarithmic" in loss.sentence
    assert "epoch 30 were selected, with an accuracy of 50.0 %" in accuracy.sentence
    assert losses([]) is None
    assert validation([{"epoch": 1, "loss": 1.0, "loss_a": 1.0}], None) is None


def test_a_loss_term_of_zero_does_not_stop_the_chart() -> None:
    history = [{"epoch": e, "loss": 1.0 / e, "loss_a": 1.0 / e**3, "loss_b": 0.0} for e in range(1, 9)]
    figure = losses(history)
    assert figure is not None
    assert figure.rows[0] == ("1", "1", "1", "0")
