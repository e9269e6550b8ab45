"""Google's TF1 checkpoints are read: the outputs of its own code, and errors for faulty folders."""

import keras
import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier, BertPretrainer, BertReranker, BertTask
from keras_bert.presets.formats.google import read_google
from keras_bert.presets.read_source import read_source

pytest.importorskip("tensorflow", reason="pip install tensorflow")


@pytest.fixture
def inputs(golden):
    names = {
        "token_ids": "input_ids",
        "padding_mask": "input_mask",
        "segment_ids": "segment_ids",
    }
    return {ours: golden["input"][theirs] for ours, theirs in names.items()}


def test_a_pretrainer_computes_what_googles_code_does(assert_close, google, golden, inputs):
    weights = {**golden["weight"], "global_step": np.array(1000, "int64")}
    for slot in ("adam_m", "adam_v"):  # of the optimizer, which are skipped
        weights |= {f"{name}/{slot}": array for name, array in golden["weight"].items()}
    model = BertPretrainer.from_preset(google(weights))
    positions = golden["input"]["masked_lm_positions"]
    heads = model({**inputs, "mask_positions": positions}, training=False)
    outputs = dict(model.backbone(inputs, training=False))
    outputs |= {f"{name}_log_probs": keras.ops.log_softmax(head) for name, head in heads.items()}
    assert_close(outputs, golden["output"])
    assert not model.load_report.new and not model.load_report.left_over


def test_a_classifier_of_run_classifier(assert_close, google, golden, inputs):
    weights = {name: w for name, w in golden["weight"].items() if name.startswith("bert/")}
    weights["output_weights"] = kernel = weights["bert/pooler/dense/kernel"][:2]
    weights["output_bias"] = bias = np.array([0.5, -0.2], "float32")
    absent = ("hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob")
    config = {**dict.fromkeys(absent), "directionality": "bidi", "pooler_fc_size": 768}
    source = google(weights, config)
    model = BertTask.from_preset(source)
    assert type(model) is BertClassifier and model.num_classes == 2
    assert (model.backbone.dropout, model.backbone.attention_dropout) == (0.1, 0.1)
    logits = golden["output"]["pooled_output"] @ kernel.T + bias
    assert_close(model(inputs, training=False), logits)
    pairs = {name: values[:, None] for name, values in inputs.items()}
    assert_close(BertReranker.from_preset(source)(pairs, training=False), np.diff(logits))
    assert not model.load_report.new and not model.load_report.left_over


def test_a_model_reads_text_with_the_vocabulary_and_casing_of_its_folder(google, caplog):
    source = google()
    assert read_google(source).tokenizer["lowercase"]
    words = (source / "vocab.txt").read_text().replace("##", "B").split()
    (source / "vocab.txt").write_text("\n".join(words))
    assert read_google(source).tokenizer == {"vocabulary": words, "lowercase": False}
    reader = BertPretrainer.from_preset(source).preprocessor
    assert reader.tokenizer.lowercase is False and reader.sequence_length == 16
    assert not caplog.text
    (source / "vocab.txt").write_text("\n".join(words[:-3]))
    read_google(source)
    assert "is it another model's?" in caplog.text
    (source / "vocab.txt").unlink()
    assert BertTask.from_preset(source).preprocessor is None
    assert "has no vocab.txt, so the model takes token ids only" in caplog.text


def same_weights(checkpoint, golden):
    weight = checkpoint.weights["next_sentence/kernel"].read()
    return np.array_equal(weight, golden["weight"]["cls/seq_relationship/output_weights"].T)


def test_a_checkpoint_is_named_by_its_folder_or_its_prefix(google, golden, refused):
    source = google(prefix="model.ckpt-1000")
    for path in (source, source / "model.ckpt-1000"):
        assert same_weights(read_source(path), golden)
    message = r"The folder has the checkpoints model.ckpt-1000\."
    refused(message, read_source, source / "model.ckpt-1")
    message = "index is a file: pass its folder or, .*prefix of one"
    refused(message, read_source, source / "model.ckpt-1000.index")


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


def test_a_file_that_is_damaged_or_missing_is_named(google, refused):
    for file, damage, message in (
        (
            DATA,
            lambda content: content[:3000] + bytes(64) + content[3064:],
            "TF1.*ownload",
        ),
        (
            INDEX,
            lambda content: content[:100],
            "truncated or not a checkpoint: .*download them",
        ),
        ("bert_config.json", None, "bert_config.json is missing or has no vocab_size"),
        (INDEX, None, "must hold bert_model.ckpt.index .*holds 0"),
    ):
        path = google() / file
        content = path.read_bytes()
        path.unlink()
        if damage is not None:
            path.write_bytes(damage(content))
        refused(message, BertBackbone.from_preset, path.parent)
