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
    found = curves(tmp_path)
    assert found["train/epoch_masked_lm_perplexity"].keys() == {0, 1, 2}
    rate = keras_bert.WarmupLinearDecay(1e-4, 2, 20)
    rates = [*found["train/epoch_learning_rate"].values()]
    assert np.allclose(rates, [float(rate(step)) for step in (8, 16, 20)])


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
    losses = found["validation/evaluation_loss_vs_iterations"]
    assert list(losses) == [*range(3, steps, 3), steps]
    first, *_, last = found["validation/epoch_masked_lm_perplexity"].values()
    assert last < first and f"Held out: perplexity {last:,.1f}." in printed
    rates = found["train/epoch_learning_rate"]
    assert max(rates, key=rates.get) == 0
    card = (tmp_path / "preset/README.md").read_text()
    assert "- `perplexity`: " in card
    module.main(options)  # a finished run keeps its score
    assert (tmp_path / "preset/README.md").read_text() == card


@pytest.mark.slow
def test_corpus_and_output_may_lie_in_a_bucket(module, corpus, curves, tensorflow, capsys, refused):
    bucket, gfile = "ram://pretrain", tensorflow.io.gfile
    gfile.makedirs(f"{bucket}/corpus")
    for path in filter(Path.is_file, corpus.iterdir()):
        gfile.copy(str(path), f"{bucket}/corpus/{path.name}")
    options = arguments(f"{bucket}/corpus", f"{bucket}/out", "--phase", "16")
    module.main([*options, "--steps", "8"])
    module.main(options)
    refused("at step 10 of 0 to 8: raise --steps", module.main, [*options, "--steps", "8"])
    out = capsys.readouterr().out
    assert "steps 8 to 10 of 10" in out and "Preset: ram://pretrain/out/preset." in out
    found = sorted(gfile.listdir(f"{bucket}/out"))
    assert found == ["checkpoints", "logs", "preset", "settings.json"]
    assert list(curves(f"{bucket}/out")["train/epoch_loss"]) == [0, 1, 2]
    assert "config.json" in gfile.listdir(f"{bucket}/out/preset")


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
    more = "--num_layers 3 --hidden_dim 24 --num_heads 4 --mask_token_rate 0.5"
    args = module.parse_args(arguments(corpus, tmp_path, *more.split(), "--no_next_sentence"))
    backbone = module.make_model(args, keras_bert.Corpus(args.corpus)).backbone
    assert (backbone.num_layers, backbone.num_heads, backbone.intermediate_dim) == (3, 4, 96)
    data = module.data_settings(args)
    assert (data["mask_token_rate"], data["random_token_rate"]) == (0.5, 0.1)
    assert not data["next_sentence"]


def test_what_does_not_fit_is_refused_first(
    module, corpus, other_corpus, preset, tmp_path, refused
):
    other, init = other_corpus, ["--init", preset]
    executions = ["--phase", "16", "--steps_per_execution", "2"]
    for text, more, message in (
        (tmp_path, [], "corpus.json .*prepare_corpus"),
        (other, init, "a different vocabulary"),
        (corpus, ["--phase", "512"], "at step 0 of 9 to 10: run phase 128 to 9"),
        (corpus, [*executions, "--steps", "9"], "steps_per_execution=2 must divide 9"),
    ):
        refused(message, module.main, arguments(text, tmp_path / "out", *map(str, more)))
