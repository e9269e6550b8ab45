import functools
import itertools

import pytest

import _time_budget


@pytest.mark.slow
def test_a_run_ends_on_its_hours_with_the_last_rate(
    module, corpus, curves, tmp_path, monkeypatch, capsys
):
    ticks = functools.partial(next, itertools.count(step=0.25))  # each time it is read
    budget = functools.partial(_time_budget.TimeBudget, clock=ticks)
    monkeypatch.setattr(_time_budget, "TimeBudget", budget)
    line = "--size tiny --strategy mirrored --save_every 4 --batch_size 4 --sequence_length 16"
    data = ["--corpus", str(corpus), "--heldout", str(corpus), "--output", str(tmp_path)]
    options = [*data, *line.split(), "--hours", "0.004"]
    module.main(options)
    assert "TimeBudget(0 of 14 seconds)" in capsys.readouterr().out
    points = curves(tmp_path)
    rates = [*points["train/epoch_learning_rate"].values()]
    assert rates[-1] == pytest.approx(0.02 * 1e-3)
    assert len(points["validation/epoch_masked_lm_perplexity"]) == len(rates)
    card = (tmp_path / "preset/README.md").read_text()
    module.main(options)  # a finished run keeps its scores
    assert "perplexity" in card and (tmp_path / "preset/README.md").read_text() == card
