import numpy as np
import pytest

import keras_bert


def arguments(preset, output, *more):
    line = "--steps 4 --save_every 2 --batch_size 4 --sequence_length 16 --strategy single"
    return ["--teacher", str(preset), "--output", str(output), *line.split(), *more]


@pytest.fixture
def small(module, monkeypatch):
    """A student that is smaller than the smallest published size."""
    size = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 16}
    monkeypatch.setitem(module.SIZES, "tiny", size)
    return ("--size", "tiny", "--packed")


def test_texts_and_their_corpus_give_a_student_also_after_an_interruption(
    module, small, preset, curves, tmp_path, monkeypatch, capsys, refused
):
    text = tmp_path / "text.txt"
    text.write_text("The book was very good and the day was fine.\n\nIt is so but not dull.\n" * 40)
    whole, corpus = arguments(preset, tmp_path / "whole", *small, "--texts", str(text)), None
    module.main(whole)
    assert f"Preset: {tmp_path}/whole/preset." in capsys.readouterr().out
    corpus = arguments(preset, tmp_path / "parts", *small, "--corpus", f"{tmp_path}/whole/corpus")
    save = keras_bert.TrainingCheckpoint.on_epoch_end

    def interrupted(checkpoint, epoch, logs=None):
        save(checkpoint, epoch, logs)
        checkpoint.wait()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(keras_bert.TrainingCheckpoint, "on_epoch_end", interrupted)
        module.main(corpus)
    module.main(corpus)
    module.main(corpus)  # has no step left
    found, expected = (
        keras_bert.BertClassifier.from_preset(tmp_path / name / "preset", num_classes=2)
        for name in ("parts", "whole")
    )
    pairs = zip(found.backbone.get_weights(), expected.backbone.get_weights(), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)
    assert found.preprocessor.sequence_length == 16 and found.backbone.hidden_dim == 8
    assert "- `steps`: `4`\n" in (tmp_path / "parts/preset/README.md").read_text()
    assert list(curves(tmp_path / "parts")["loss"]) == [2, 4]
    refused("other settings: seed=1", module.main, [*corpus, "--seed", "1"])


def test_layers_of_the_teacher_are_kept(module, corpus, preset, tmp_path, refused):
    line = arguments(preset, tmp_path, "--keep_layers", "0", "--corpus", str(corpus))
    model = module.make_model(module.parse_args(line))
    theirs = keras_bert.BertBackbone.from_preset(preset).get_weights()
    assert all(map(np.array_equal, model.backbone.get_weights(), theirs))
    refused("layer must be at most 0; got 1", module.main, [*line, "--teacher_layer", "1"])
