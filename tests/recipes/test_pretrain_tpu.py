from pathlib import Path

import keras
import numpy as np
import pytest

import keras_bert

SHORT = "--phase 16 --batch_size 4 --learning_rate 1e-3 --save_every 3"


def arguments(corpus, output, *more):
    line = "--size tiny --steps 10 --batch_size 2 --warmup_proportion 0.1 --save_every 4"
    line = [
        "--corpus",
        corpus,
        "--output",
        output,
        *line.split(),
        "--strategy",
        "single",
        *more,
    ]
    return [*map(str, line)]


@pytest.mark.slow
def test_both_phases_lie_on_one_axis(module, corpus, curves, tmp_path):
    options = arguments(corpus, tmp_path, "--steps", 20, "--save_every", 8, "--preset_every", 8)
    module.main([*options, "--phase", "128"])
    module.main([*options, "--phase", "512", "--steps_per_execution", "2"])
    kept = sorted(path.name for path in tmp_path.glob("preset*"))
    assert kept == ["preset", "preset_16", "preset_8"]  # none of steps 18 and 20
    found = curves(tmp_path)
    assert found["train/epoch_masked_lm_perplexity"].keys() == {0, 1, 2}
    rate = keras_bert.WarmupLinearDecay(1e-4, 2, 20)
    rates = [*found["train/epoch_learning_rate"].values()]
    assert np.allclose(rates, [float(rate(step)) for step in (8, 16, 20)])


@pytest.mark.slow
def test_a_preset_learns_from_a_bucket_and_held_out_text_is_evaluated_at_every_checkpoint(
    module, corpus, preset, curves, tensorflow, capsys, refused
):
    bucket, gfile = "ram://pretrain", tensorflow.io.gfile
    gfile.makedirs(f"{bucket}/corpus")
    for path in filter(Path.is_file, corpus.iterdir()):
        gfile.copy(str(path), f"{bucket}/corpus/{path.name}")
    tokens = keras_bert.Corpus(corpus).num_tokens
    steps = -(-tokens // 64)
    options = [
        "--corpus",
        f"{bucket}/corpus",
        "--output",
        f"{bucket}/out",
        "--init",
        str(preset),
    ]
    options += ["--heldout", str(corpus), "--strategy", "single", *SHORT.split()]
    module.main([*options, "--epochs", "1"])
    printed = capsys.readouterr().out
    assert f"Pre-trained to step {steps}. Preset: {bucket}/out/preset." in printed
    assert {*gfile.listdir(f"{bucket}/out")} == {
        "checkpoints",
        "logs",
        "preset",
        "settings.json",
    }
    found = curves(f"{bucket}/out")
    losses = found["validation/evaluation_loss_vs_iterations"]
    assert list(losses) == [*range(3, steps, 3), steps]
    first, *_, last = found["validation/epoch_masked_lm_perplexity"].values()
    assert last < first and f"Held out: perplexity {last:,.1f}." in printed
    with gfile.GFile(f"{bucket}/out/preset/README.md") as card:
        assert "- `perplexity`: " in card.read()
    too_few = [*options, "--steps", "2"]
    refused(f"at step {steps} of 0 to 2: raise --steps", module.main, too_few)


def test_it_starts_from_a_preset_with_its_switches(module, corpus, preset, tmp_path):
    switches = ("--google_optimizer", "--no_next_sentence", "--mask_token_rate", 0.5)
    args = module.parse_args(arguments(corpus, tmp_path, "--init", preset, *switches))
    model = module.make_model(args, keras_bert.Corpus(args.corpus))
    assert not model.optimizer.bias_correction
    data = module.data_settings(args)
    assert (data["next_sentence"], data["mask_token_rate"]) == (False, 0.5)
    saved = keras_bert.BertPretrainer.from_preset(preset, next_sentence=model.next_sentence)
    assert all(map(np.array_equal, model.get_weights(), saved.get_weights()))
    assert model.preprocessor.sequence_length == 32 > saved.preprocessor.sequence_length
    assert model.optimizer.get_config()["learning_rate"]["config"]["total_steps"] == 9


def test_tpus_take_bfloat16_and_many_steps_per_execution(module, monkeypatch, capsys):
    import _runs

    monkeypatch.setattr("_runs._is_of_tpus", lambda strategy: True)
    for options, precision, intervals, steps in (
        ("", "mixed_bfloat16", (1000, 900_000), 20),
        ("", "mixed_bfloat16", (48, 90), 6),
        ("--precision float32 --steps_per_execution 1", "float32", (1000,), 1),
    ):
        args = module.parse_args(["--corpus", "c", "--output", "o", *options.split()])
        strategy = _runs.start_training(args)
        assert _runs.steps_per_execution(args, strategy, *intervals) == steps
        assert keras.config.dtype_policy().name == precision
        said = f"On a TPU: {precision}, {steps} steps per execution."
        assert (said in capsys.readouterr().out) == (not options)


def test_what_does_not_fit_is_refused_first(
    module, corpus, other_corpus, preset, tmp_path, refused
):
    executions = ["--phase", 16, "--steps_per_execution", 2, "--steps", 9]
    for text, more, message in (
        (other_corpus, ["--init", preset], "a different vocabulary"),
        (corpus, ["--phase", 512], "at step 0 of 9 to 10: run phase 128 to 9"),
        (corpus, executions, "steps_per_execution=2 must divide 9"),
    ):
        refused(message, module.main, arguments(text, tmp_path / "out", *more))
