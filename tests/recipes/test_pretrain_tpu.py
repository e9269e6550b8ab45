from pathlib import Path

import numpy as np
import pytest

import keras_bert


def arguments(corpus, output, *more):
    return [
        "--corpus", str(corpus), "--output", str(output), "--size", "tiny", "--steps", "10",
        "--batch_size", "2", "--warmup_proportion", "0.1", "--save_every", "4",
        "--strategy", "single", *more,
    ]  # fmt: skip


@pytest.mark.slow
def test_both_phases_and_a_resumed_run_lie_on_one_axis(
    module, corpus, curves, tmp_path, monkeypatch
):
    options = arguments(corpus, tmp_path, "--steps", "20", "--save_every", "8")

    def interrupted(model, *arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(keras_bert.BertPretrainer, "save_to_preset", interrupted)
        with pytest.raises(KeyboardInterrupt):  # the rerun writes this preset
            module.main([*options, "--phase", "128", "--preset_every", "8"])
    module.main([*options, "--phase", "128", "--preset_every", "8"])
    module.main([*options, "--phase", "512", "--steps_per_execution", "2", "--preset_every", "8"])
    kept = sorted(path.name for path in tmp_path.glob("preset*"))
    assert kept == ["preset", "preset_16", "preset_8"]  # none of steps 18 and 20
    cards = [(tmp_path / name / "README.md").read_text() for name in ("preset_8", "preset_16")]
    assert cards[0] == cards[1] and "- `size`: `tiny`\n" in cards[0]
    found = curves(tmp_path)
    assert list(found["loss"]) == [8, 10, 16, 18, 20]
    for task in ("masked_lm", "next_sentence"):
        assert found[f"{task}_loss"].keys() == found["loss"].keys()
        assert found[f"{task}_accuracy"].keys() == found["loss"].keys()
    rate = keras_bert.WarmupLinearDecay(1e-4, 2, 20)
    for step, value in found["learning_rate"].items():
        assert np.isclose(value, float(rate(step - 1)))
    assert list(found["tokens_per_second"]) == [8, 16, 18]  # the last phase is one execution


@pytest.mark.slow
def test_held_out_text_is_evaluated_at_every_checkpoint(
    module, corpus, preset, curves, tmp_path, capsys
):
    num_tokens = keras_bert.Corpus(corpus).num_tokens
    options = [
        "--corpus", str(corpus), "--heldout", str(corpus), "--output", str(tmp_path),
        "--init", str(preset), "--phase", "16", "--epochs", "1", "--batch_size", "4",
        "--learning_rate", "1e-3", "--save_every", "3", "--strategy", "single",
    ]  # fmt: skip
    module.main(options)
    steps = -(-num_tokens // 64)
    printed = capsys.readouterr().out
    assert f"Pre-trained to step {steps}." in printed
    found = curves(tmp_path)
    checkpoints = [*range(3, steps, 3), steps]
    for name in ("masked_lm_loss", "masked_lm_perplexity", "next_sentence_accuracy"):
        assert list(found[f"validation/{name}"]) == checkpoints
    loss, perplexity = (
        [*found[f"validation/masked_lm_{name}"].values()] for name in ("loss", "perplexity")
    )
    assert np.allclose(np.exp(loss), perplexity, rtol=1e-5) and loss[-1] < loss[0]
    assert f"Held out: perplexity {perplexity[-1]:,.1f} at step {steps}." in printed
    assert max(found["learning_rate"], key=found["learning_rate"].get) == checkpoints[0]
    card = (tmp_path / "preset/README.md").read_text()
    assert "- `perplexity`: " in card
    module.main(options)  # a finished run keeps its score
    assert (tmp_path / "preset/README.md").read_text() == card


@pytest.mark.slow
def test_corpus_and_output_may_lie_in_a_bucket(
    module, corpus, curves, tensorflow, tmp_path, capsys
):
    bucket, gfile = "ram://pretrain", tensorflow.io.gfile
    gfile.makedirs(f"{bucket}/corpus")
    for path in filter(Path.is_file, corpus.iterdir()):
        gfile.copy(str(path), f"{bucket}/corpus/{path.name}")
    options = arguments(f"{bucket}/corpus", f"{bucket}/out", "--phase", "16")
    module.main([*options, "--steps", "8"])
    module.main(options)
    with pytest.raises(ValueError, match="at step 10 of 0 to 8: raise --steps"):
        module.main([*options, "--steps", "8"])
    out = capsys.readouterr().out
    assert "steps 8 to 10 of 10" in out and "Preset: ram://pretrain/out/preset." in out
    found = sorted(gfile.listdir(f"{bucket}/out"))
    assert found == ["checkpoints", "logs", "preset", "settings.json"]
    assert list(curves(f"{bucket}/out")["loss"]) == [4, 8, 10]

    for name in gfile.listdir(f"{bucket}/out/preset"):
        gfile.copy(f"{bucket}/out/preset/{name}", str(tmp_path / name))
    saved = keras_bert.BertPretrainer.from_preset(tmp_path)
    assert saved.preprocessor.sequence_length == 16 and saved.backbone.dropout == 0.1
    card = (tmp_path / "README.md").read_text()
    assert "- `size`: `tiny`\n" in card and "- `learning_rate`: `0.0001`\n" in card
    checkpoint = keras_bert.TrainingCheckpoint(f"{bucket}/out/checkpoints")
    model = module.make_model(module.parse_args(options), keras_bert.Corpus(corpus))
    assert checkpoint.restore(model) == 10
    assert all(map(np.array_equal, saved.get_weights(), model.get_weights()))


def test_a_run_of_other_settings_is_not_gone_on_with(
    module, corpus, other_corpus, tmp_path, monkeypatch, refused
):
    options = arguments(corpus, tmp_path, "--phase", "16", "--steps", "4")

    def fit(model, *args, callbacks, **settings):
        model.save_to_preset(tmp_path / "preset")
        model.optimizer.iterations.assign(4)
        callbacks[-1].save(model)  # the checkpoint
        callbacks[-1].wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(keras_bert.BertPretrainer, "fit", fit)
    with pytest.raises(KeyboardInterrupt):
        module.main(options)
    for more, message in (
        (["--seed", "7"], "other settings: seed=7 .there 0"),
        (["--init", str(tmp_path / "preset")], "other settings: init="),
        (["--phase", "8"], "phase=8 .there 16"),
        (["--learning_rate", "1"], "learning_rate=1.0 .there 0.0001"),
        (["--corpus", str(other_corpus)], "other settings: vocabulary_sha256='"),
        (["--corpus", str(other_corpus), "--phase", "512", "--steps", "5"], "vocabulary_sha256"),
    ):
        refused(message, module.main, [*options, *more])


def test_a_phase_says_which_one_takes_the_other_steps(
    module, corpus, tmp_path, monkeypatch, capsys
):
    def fit(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(keras_bert.BertPretrainer, "fit", fit)
    with pytest.raises(KeyboardInterrupt):
        module.main(arguments(corpus, tmp_path, "--steps", "20"))
    assert "steps 0 to 18 of 20. --phase 512 takes the other 2." in capsys.readouterr().out


def test_it_starts_from_a_preset(module, corpus, preset, tmp_path):
    args = module.parse_args(arguments(corpus, tmp_path, "--init", str(preset)))
    model = module.make_model(args, keras_bert.Corpus(args.corpus))
    saved = keras_bert.BertPretrainer.from_preset(preset)
    assert all(map(np.array_equal, model.get_weights(), saved.get_weights()))
    assert model.preprocessor.sequence_length == 32 > saved.preprocessor.sequence_length
    assert module.phase_steps(args) == (0, 9)
    rate = model.optimizer.get_config()["learning_rate"]["config"]
    assert rate["total_steps"] == 9


def test_switches_reach_the_model_and_the_data(module, corpus, tmp_path):
    shape = ["--num_layers", "3", "--hidden_dim", "24", "--num_heads", "4"]
    args = module.parse_args(arguments(corpus, tmp_path, *shape, "--mask_token_rate", "0.5"))
    model = module.make_model(args, keras_bert.Corpus(args.corpus))
    names = ("num_layers", "hidden_dim", "num_heads", "intermediate_dim", "causal")
    assert [getattr(model.backbone, name) for name in names] == [3, 24, 4, 96, False]
    data = module.data_settings(args)
    assert data["mask_token_rate"] == 0.5 and data["random_token_rate"] == 0.1
    causal = ["--left_to_right", "--no_next_sentence"]
    args = module.parse_args(arguments(corpus, tmp_path, *causal))
    assert module.data_settings(args)["left_to_right"]
    assert module.make_model(args, keras_bert.Corpus(args.corpus)).backbone.causal


def test_what_does_not_fit_is_refused_first(
    module, corpus, other_corpus, preset, tmp_path, refused
):
    other, init = other_corpus, ["--init", preset]
    executions = ["--phase", "16", "--steps_per_execution", "2"]
    for text, more, message in (
        (corpus, ["--left_to_right", "--no_next_sentence", *init], "left_to_right is True, unlike"),
        (tmp_path, [], "is not a corpus folder.*prepare_corpus"),
        (corpus, ["--left_to_right"], "pass next_sentence=False"),
        (other, init, "a different vocabulary"),
        (corpus, ["--heldout", other], "has a different vocabulary"),
        (corpus, ["--phase", "512"], "at step 0 of 9 to 10: run phase 128 to 9"),
        (corpus, [*executions, "--steps", "9"], "steps_per_execution=2 must divide 9"),
        (corpus, [*executions, "--save_every", "3"], "steps_per_execution=2 must divide"),
    ):
        refused(message, module.main, arguments(text, tmp_path / "out", *map(str, more)))


def test_the_defaults_are_those_of_the_paper(module):
    args = module.parse_args(["--corpus", "c", "--output", "o"])
    assert (args.size, args.batch_size, args.steps) == ("base", 256, 1_000_000)
    assert (args.learning_rate, args.warmup_proportion, args.weight_decay) == (1e-4, 0.01, 0.01)
    assert module.phase_steps(args) == (0, 900_000)
    args.phase = 512
    assert module.phase_steps(args) == (900_000, 1_000_000)
