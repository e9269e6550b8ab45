import functools
import itertools

import numpy as np
import pytest

import _time_budget
import keras_bert


def test_the_settings_are_mosaicberts(module, corpus, tmp_path, monkeypatch):
    args = module.parse_args(["--corpus", str(corpus), "--output", str(tmp_path)])
    for width, peak in ((64, 1e-3), (768, 5e-4)):
        size = {"num_layers": 1, "hidden_dim": width, "num_heads": 1, "intermediate_dim": 8}
        monkeypatch.setitem(module.SIZES, "base", size)
        model, budget = module.make_model(args, keras_bert.Corpus(corpus))
        optimizer = model.optimizer
        assert optimizer.weight_decay * peak == pytest.approx(1e-5)
        assert optimizer.beta_2 == 0.98
        rates = [float(budget._schedule(hour * 3600)) for hour in (1.44, 24)]
        np.testing.assert_allclose(rates, [peak, 0.02 * peak], rtol=1e-6)
        assert (model.backbone.attention_dropout, model.backbone.dropout) == (0.0, 0.1)
        assert not model.next_sentence


@pytest.mark.slow
def test_a_run_ends_on_its_hours_with_the_last_rate(
    module, corpus, curves, tmp_path, monkeypatch, capsys, refused
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
    last = max(points["validation/evaluation_loss_vs_iterations"])
    rates = [*points["train/epoch_learning_rate"].values()]
    assert rates[-1] == pytest.approx(0.02 * 1e-3)
    assert len(points["validation/epoch_masked_lm_perplexity"]) == len(rates)
    card = (tmp_path / "preset/README.md").read_text()
    module.main(options)  # a finished run keeps its scores
    assert "perplexity" in card and (tmp_path / "preset/README.md").read_text() == card
    assert f"Pre-trained to step {last:,}." in capsys.readouterr().out
    message = "14 seconds before, longer than the budget of 11"
    refused(message, module.main, [*options, "--hours", "0.003"])
