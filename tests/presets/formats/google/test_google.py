"""Google's TF1 checkpoints are read: the outputs of its own code, and errors for faulty folders."""

import json

import keras
import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier, BertPretrainer, BertTask
from keras_bert.presets.formats.checkpoint import Checkpoint
from keras_bert.presets.formats.google import read_google
from keras_bert.presets.read_source import read_source

pytest.importorskip("tensorflow", reason="pip install tensorflow")

CLASSES = {"output_weights": (3, 32), "output_bias": (3,)}


def inputs_of(golden):
    names = {"token_ids": "input_ids", "padding_mask": "input_mask", "segment_ids": "segment_ids"}
    names["mask_positions"] = "masked_lm_positions"
    return {ours: golden["input"][theirs] for ours, theirs in names.items()}


def arrays(outputs):
    return keras.tree.map_structure(keras.ops.convert_to_numpy, outputs)


def pretrained(model, golden):
    """A pretrainer's outputs, of the names that those of Google's code have."""
    inputs = inputs_of(golden)
    heads = keras.tree.map_structure(keras.ops.log_softmax, model(inputs, training=False))
    del inputs["mask_positions"]
    return {
        **arrays(model.backbone(inputs, training=False)),
        **{f"{name}_log_probs": array for name, array in arrays(heads).items()},
    }


def test_a_pretrainer_computes_what_googles_code_does(assert_close, google, golden):
    model = BertPretrainer.from_preset(google())
    assert_close(pretrained(model, golden), dict(golden["output"]))
    assert not model.load_report.new and not model.load_report.left_over
    sizes = {**model.backbone.get_config(), "activation": "gelu"}
    exact = BertPretrainer(BertBackbone.from_config(sizes))
    exact.set_weights(model.get_weights())
    with pytest.raises(AssertionError, match="Not equal to tolerance"):  # which would be noticed
        assert_close(pretrained(exact, golden), golden["output"])


def test_a_classifier_of_run_classifier(assert_close, google, golden, with_head):
    weights = with_head(CLASSES)
    model = BertTask.from_preset(google(weights))
    assert type(model) is BertClassifier and model.num_classes == 3
    inputs = inputs_of(golden)
    del inputs["mask_positions"]
    logits = golden["output"]["pooled_output"] @ weights["output_weights"].T
    assert_close(arrays(model(inputs, training=False)), logits + weights["output_bias"])
    assert not model.load_report.new and not model.load_report.left_over


def test_the_optimizer_is_skipped(google, golden):
    weights = {**golden["weight"], "global_step": np.array(1000, "int64")}
    for slot in ("adam_m", "adam_v"):
        weights |= {f"{name}/{slot}": array for name, array in golden["weight"].items()}
    checkpoint = read_google(google(weights))
    assert not checkpoint.left_over
    assert checkpoint.weights.keys() == read_google(google()).weights.keys()


def test_absent_keys_have_googles_defaults_and_others_are_ignored(google, golden):
    source = google()
    absent = ("hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob")
    config = {name: value for name, value in golden["config"].items() if name not in absent}
    config |= {"directionality": "bidi", "pooler_fc_size": 768, "pooler_type": "first_token"}
    (source / "bert_config.json").write_text(json.dumps(config))
    backbone = read_google(source).backbone
    assert backbone["activation"] == "gelu_approximate"
    assert (backbone["dropout"], backbone["attention_dropout"]) == (0.1, 0.1)


def test_a_model_reads_text_with_the_vocabulary_and_casing_of_its_folder(google):
    for vocabulary in ("uncased", "cased"):
        source = google(name=vocabulary, vocabulary=vocabulary)
        assert read_google(source).tokenizer["lowercase"] is (vocabulary == "uncased")
    model = BertPretrainer.from_preset(source, lowercase=False)
    words = (source / "vocab.txt").read_text().split()
    assert model.preprocessor.tokenizer.get_vocabulary() == words
    assert model.preprocessor.tokenizer.lowercase is False
    assert model.preprocessor.sequence_length == 16


def test_a_vocabulary_that_is_missing_or_another_models_is_told(google, caplog):
    source = google()
    read_google(source)
    assert not caplog.text
    words = (source / "vocab.txt").read_text().split("\n")
    (source / "vocab.txt").write_text("\n".join(words[:-3]))
    read_google(source)
    assert "is it another model's?" in caplog.text
    (source / "vocab.txt").unlink()
    assert BertTask.from_preset(source).preprocessor is None
    assert "has no vocab.txt, so the model takes token ids only" in caplog.text


def same_weights(checkpoint, golden):
    weight = checkpoint.weights["next_sentence/kernel"].read()
    return np.array_equal(weight, golden["weight"]["cls/seq_relationship/output_weights"].T)


@pytest.mark.parametrize("prefix", ["bert_model.ckpt", "model.ckpt-1000"])
def test_a_checkpoint_is_named_by_its_folder_or_its_prefix(google, golden, prefix, refused):
    source = google(prefix=prefix)
    for path in (source, source / prefix):
        assert same_weights(read_google(path), golden)
    assert isinstance(read_source(source / prefix), Checkpoint)
    refused(f"The folder has the checkpoints {prefix}\\.", read_source, source / "model.ckpt-1")
    refused(
        "index is a file: pass its folder or, .*prefix of one",
        read_source,
        source / f"{prefix}.index",
    )


def test_the_checkpoint_file_of_a_folder_chooses_among_several(google, golden, refused):
    google({"global_step": np.array(0, "int64")}, prefix="model.ckpt-1000")
    source = google(prefix="model.ckpt-2000")
    message = r"holds 2 \(model.ckpt-1000, model.ckpt-2000\). Of several, pass the path of one"
    refused(message, BertPretrainer.from_preset, source)
    (source / "checkpoint").write_text(
        'model_checkpoint_path: "/their/machine/model.ckpt-2000"\n'
        'all_model_checkpoint_paths: "/their/machine/model.ckpt-1000"\n'
    )
    assert same_weights(read_google(source), golden)


DATA, INDEX = "bert_model.ckpt.data-00000-of-00001", "bert_model.ckpt.index"


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        (DATA, lambda content: content[: len(content) // 2], "TF1 checkpoint .*ckpt.*ownload"),
        (DATA, lambda content: content[:3000] + bytes(64) + content[3064:], "TF1.*ownload"),
        (INDEX, lambda content: content[:100], "truncated or not a checkpoint: .*download them"),
        (INDEX, None, "must hold bert_model.ckpt.index .*holds 0"),
        ("bert_config.json", None, "bert_config.json is missing or has no vocab_size"),
        (
            "bert_config.json",
            lambda content: content.replace(b'"gelu"', b'"swish"'),
            "hidden_act .* 'gelu', 'relu', 'tanh', 'linear'; got 'swish'",
        ),
    ],
)
def test_a_file_that_is_damaged_or_missing_is_named(google, file, damage, message, refused):
    path = google() / file
    content = path.read_bytes()
    path.unlink()
    if damage is not None:
        path.write_bytes(damage(content))
    refused(message, BertBackbone.from_preset, path.parent)
