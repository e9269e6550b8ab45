"""Google's TF1 checkpoints: the numbers of its own code, and the same bits back.

`tests/golden/google_tf1.npz` holds a model that google-research/bert built and evaluated.
"""

import json
import logging
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertPreprocessor,
    BertPretrainer,
    BertTask,
    BertTokenizer,
    save_to_google,
)

tf = pytest.importorskip("tensorflow", reason="TF1 checkpoints are TensorFlow's")

GOLDEN = Path(__file__).parents[1] / "golden" / "google_tf1.npz"
LETTERS = [chr(ord("a") + i) for i in range(26)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
UNCASED = SPECIAL + LETTERS + [f"##{letter}" for letter in LETTERS[:9]]
CASED = SPECIAL + LETTERS + [letter.upper() for letter in LETTERS[:9]]
SQUAD = {"cls/squad/output_weights": (2, 32), "cls/squad/output_bias": (2,)}
CLASSES = {"output_weights": (3, 32), "output_bias": (3,)}


@pytest.fixture(scope="module")
def golden():
    """`config`, and `weight`, `input` and `output`: dicts of arrays by name."""
    parts = {"weight": {}, "input": {}, "output": {}}
    with np.load(GOLDEN) as file:
        for key in file:
            part, _, name = key.partition(":")
            if name:
                parts[part][name] = file[key]
        return {**parts, "config": json.loads(str(file["config"]))}


@pytest.fixture
def google(tmp_path, golden):
    """Writes a folder as Google's scripts do: variables by TensorFlow 1's own Saver."""

    def write(weights=None, config=(), vocabulary=UNCASED, name="theirs", prefix="bert_model.ckpt"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        save_as_tf1(golden["weight"] if weights is None else weights, folder / prefix)
        (folder / "checkpoint").unlink()  # its published folders are without
        text = json.dumps({**golden["config"], **dict(config)})
        (folder / "bert_config.json").write_text(text)
        if vocabulary is not None:
            (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in vocabulary))
        return folder

    return write


def save_as_tf1(weights, prefix):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variables = [
            tf.compat.v1.get_variable(name, initializer=array) for name, array in weights.items()
        ]
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver(variables).save(session, str(prefix), write_meta_graph=False)


def variables_of(folder):
    reader = tf.train.load_checkpoint(str(folder / "bert_model.ckpt"))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def equal(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def random_variables(shapes, seed=5):
    generator = np.random.default_rng(seed)
    return {name: generator.normal(0, 0.2, s).astype("float32") for name, s in shapes.items()}


def encoder_of(golden):
    return {name: w for name, w in golden["weight"].items() if name.startswith("bert/")}


def inputs_of(golden):
    names = {
        "token_ids": "input_ids",
        "padding_mask": "input_mask",
        "segment_ids": "segment_ids",
        "mask_positions": "masked_lm_positions",
    }
    return {ours: golden["input"][theirs] for ours, theirs in names.items()}


def outputs_of(model, inputs):
    return keras.tree.map_structure(keras.ops.convert_to_numpy, model(inputs, training=False))


def log_softmax(logits):
    return keras.ops.convert_to_numpy(keras.ops.log_softmax(logits, axis=-1))


def largest_difference(model, golden):
    """Of a pretrainer's outputs from those of Google's code."""
    inputs = inputs_of(golden)
    heads = outputs_of(model, inputs)
    del inputs["mask_positions"]
    ours = {
        **outputs_of(model.backbone, inputs),
        "masked_lm_log_probs": log_softmax(heads["masked_lm"]),
        "next_sentence_log_probs": log_softmax(heads["next_sentence"]),
    }
    assert ours.keys() == golden["output"].keys()
    return max(np.abs(ours[name] - golden["output"][name]).max() for name in ours)


def test_a_pretrainer_computes_what_googles_code_does(google, golden):
    model = BertPretrainer.from_preset(google())
    assert largest_difference(model, golden) < 1e-5
    assert not model.load_report.new and not model.load_report.left_over


def test_the_other_gelu_would_be_seen(google, golden):
    source = google(config={"keras_bert_activation": "gelu"})
    assert largest_difference(BertPretrainer.from_preset(source), golden) > 1e-4


def test_a_backbone_leaves_the_heads(google, golden):
    model = BertBackbone.from_preset(google())
    inputs = inputs_of(golden)
    del inputs["mask_positions"]
    outputs = outputs_of(model, inputs)
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(outputs[name], golden["output"][name], atol=1e-5)
    heads = {name: w.shape for name, w in golden["weight"].items() if name.startswith("cls/")}
    assert model.load_report.left_over == heads


def test_a_classifier_of_run_classifier(google, golden):
    head = random_variables(CLASSES)
    model = BertTask.from_preset(google({**encoder_of(golden), **head}))
    assert type(model) is BertClassifier and model.num_classes == 3
    inputs = inputs_of(golden)
    del inputs["mask_positions"]
    expected = golden["output"]["pooled_output"] @ head["output_weights"].T + head["output_bias"]
    np.testing.assert_allclose(outputs_of(model, inputs), expected, atol=1e-5)
    assert not model.load_report.new and not model.load_report.left_over


def test_the_head_of_run_squad_is_known_and_left_to_its_task(google, golden):
    source = google({**encoder_of(golden), **random_variables(SQUAD)})
    model = BertClassifier.from_preset(source, num_classes=2)  # as many outputs as SQuAD's head
    assert set(model.load_report.new) == {"logits/kernel", "logits/bias"}
    assert model.load_report.left_over == SQUAD


def test_the_optimizer_is_skipped(google, golden):
    slots = {
        f"{name}/{slot}": np.zeros_like(array)
        for name, array in golden["weight"].items()
        for slot in ("adam_m", "adam_v")
    }
    step = {"global_step": np.array(1000, "int64")}
    model = BertPretrainer.from_preset(google({**golden["weight"], **slots, **step}))
    assert largest_difference(model, golden) < 1e-5
    assert not model.load_report.left_over


def test_keys_that_googles_code_does_not_know_are_accepted(google, golden):
    pooler = {"directionality": "bidi", "pooler_fc_size": 768, "pooler_type": "first_token"}
    model = BertPretrainer.from_preset(google(config=pooler))
    assert largest_difference(model, golden) < 1e-5


def test_absent_keys_have_googles_defaults(google, golden):
    source = google()
    config = golden["config"]
    absent = ("hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob")
    config = {name: value for name, value in config.items() if name not in absent}
    (source / "bert_config.json").write_text(json.dumps(config))
    backbone = BertBackbone.from_preset(source)
    assert backbone.activation == "gelu_approximate"
    assert (backbone.dropout, backbone.attention_dropout) == (0.1, 0.1)


@pytest.mark.parametrize(
    ("name", "vocabulary", "lowercase", "contradiction"),
    [
        ("theirs", UNCASED, True, None),
        ("theirs", CASED, False, None),
        ("uncased_L-2_H-32_A-2", UNCASED, True, None),
        ("multi_cased_L-2_H-32_A-2", CASED, False, None),
        ("cased_L-2_H-32_A-2", UNCASED, False, "named as a model of cased text"),
        ("uncased_L-2_H-32_A-2", CASED, True, "named as a model of uncased text"),
        ("chinese_L-2_H-32_A-2", CASED, True, None),
    ],
)
def test_casing_is_that_of_the_name_or_of_the_vocabulary(
    google, caplog, name, vocabulary, lowercase, contradiction
):
    pytest.importorskip("tensorflow_text", reason="raw text needs TensorFlow Text")
    source = google(name=name, vocabulary=vocabulary)
    with caplog.at_level(logging.WARNING, "keras_bert"):
        model = BertPretrainer.from_preset(source)
    assert model.preprocessor.tokenizer.lowercase is lowercase
    assert model.preprocessor.sequence_length == 16
    if contradiction is None:
        assert not caplog.text
    else:
        assert f"{contradiction}, but its vocabulary is one of" in caplog.text
        assert f"lowercase={not lowercase}) says otherwise" in caplog.text
    other = BertPretrainer.from_preset(source, lowercase=not lowercase)
    assert other.preprocessor.tokenizer.lowercase is not lowercase


@pytest.mark.parametrize("prefix", ["bert_model.ckpt", "model.ckpt-1000"])
def test_a_prefix_names_one_checkpoint_of_a_folder(google, golden, prefix):
    source = google(prefix=prefix)
    assert largest_difference(BertPretrainer.from_preset(source), golden) < 1e-5
    model = BertPretrainer.from_preset(source / prefix)
    assert largest_difference(model, golden) < 1e-5


def test_of_two_checkpoints_the_one_that_the_folder_names_is_taken(google, golden):
    zeros = {name: np.zeros_like(w) for name, w in golden["weight"].items()}
    google(zeros, prefix="model.ckpt-1000")
    source = google(prefix="model.ckpt-2000")
    message = r"holds 2 checkpoints \(model.ckpt-1000, model.ckpt-2000\): name one of them"
    with pytest.raises(ValueError, match=message):
        BertPretrainer.from_preset(source)
    (source / "checkpoint").write_text(
        'model_checkpoint_path: "/their/machine/model.ckpt-2000"\n'
        'all_model_checkpoint_paths: "/their/machine/model.ckpt-1000"\n'
    )
    assert largest_difference(BertPretrainer.from_preset(source), golden) < 1e-5


def test_a_folder_without_a_checkpoint_is_refused(google):
    source = google()
    for file in source.glob("bert_model.ckpt.*"):
        file.unlink()
    with pytest.raises(ValueError, match="holds 0 checkpoints: bert_model.ckpt.index and bert_mod"):
        BertBackbone.from_preset(source)


def test_one_file_of_a_checkpoint_is_not_its_name(google):
    with pytest.raises(ValueError, match=r"is a file. Give the folder .* or.* the prefix"):
        BertBackbone.from_preset(google() / "bert_model.ckpt.index")


@pytest.mark.parametrize("damage", ["cut off", "overwritten", "gone"])
def test_a_data_file_that_is_not_whole_is_refused(google, damage):
    source = google()
    data = source / "bert_model.ckpt.data-00000-of-00001"
    content = data.read_bytes()
    if damage == "cut off":
        data.write_bytes(content[: len(content) // 2])
    elif damage == "overwritten":
        half = len(content) // 2
        data.write_bytes(content[:half] + bytes(64) + content[half + 64 :])
    else:
        data.unlink()
    with pytest.raises(ValueError, match=r"TF1 checkpoint .*bert_model.ckpt is .*etch"):
        BertBackbone.from_preset(source)


def test_an_index_that_is_not_whole_is_refused(google):
    source = google()
    index = source / "bert_model.ckpt.index"
    index.write_bytes(index.read_bytes()[:100])
    with pytest.raises(ValueError, match="is cut off or is no checkpoint: .*fetch them again"):
        BertBackbone.from_preset(source)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("bert/embeddings/word_embeddings", r"word_embeddings is missing, \[40, 32\] here"),
        (
            "bert/encoder/layer_1/attention/self/key/kernel",
            r"lacks bert/encoder/layer_1/attention/self/key/kernel, \[32, 32\] like",
        ),
        (
            "bert/encoder/layer_0/output/LayerNorm/beta",
            r"layer_0/output/LayerNorm/beta is missing, \[32\] here",
        ),
    ],
)
def test_a_missing_tensor_of_the_encoder_is_named(google, golden, missing, message):
    weights = {name: w for name, w in golden["weight"].items() if name != missing}
    with pytest.raises(ValueError, match=message):
        BertBackbone.from_preset(google(weights))


def test_a_checkpoint_without_a_pooler_has_a_new_one(google, golden, caplog):
    weights = {name: w for name, w in golden["weight"].items() if "pooler" not in name}
    model = BertBackbone.from_preset(google(weights))
    assert model.load_report.new == {"pooler/kernel": (32, 32), "pooler/bias": (32,)}
    assert "lacks pooler/kernel, pooler/bias: initialised anew" in caplog.text


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"max_position_embeddings": 20},
            r"embeddings/position_embedding/embeddings is \[16, 32\] there and \[20, 32\] here",
        ),
        ({"intermediate_size": 48}, r"intermediate_dense/kernel is \[32, 64\] there and \[32, 48"),
        ({"num_hidden_layers": 1}, r"bert/encoder/layer_1/\S+ \[\d+(, \d+)?\] has no place"),
        ({"num_hidden_layers": 3}, r"bert/encoder/layer_2/\S+query/kernel, .* is missing"),
        ({"hidden_act": "swish"}, "hidden_act='swish'; Google's code has gelu, relu, tanh, linear"),
    ],
)
def test_another_models_config_is_refused(google, config, message):
    with pytest.raises(ValueError, match=message):
        BertBackbone.from_preset(google(config=config))


def test_a_folder_without_a_config_says_what_is_missing(google):
    source = google()
    (source / "bert_config.json").unlink()
    with pytest.raises(ValueError, match="bert_config.json is missing or names no vocab_size"):
        BertBackbone.from_preset(source)
    (source / "bert_config.json").write_text('{"vocab_size": ')
    with pytest.raises(ValueError, match="bert_config.json is not JSON"):
        BertBackbone.from_preset(source)


def test_a_vocabulary_longer_than_the_table_is_refused(google):
    source = google(vocabulary=[*UNCASED, "more"])
    message = "has a vocabulary of 41 tokens but a table of 40: they belong to different models"
    for model in (BertBackbone, BertPretrainer):
        with pytest.raises(ValueError, match=message):
            model.from_preset(source)


def test_a_vocabulary_shorter_than_the_table_is_told(google, caplog):
    with caplog.at_level(logging.INFO, "keras_bert"):
        BertBackbone.from_preset(google(vocabulary=UNCASED[:-3]))
    assert "37 words, the last 3 rows of the table are spare" in caplog.text


def test_a_folder_without_a_vocabulary_is_a_model_without_text(google, golden):
    model = BertPretrainer.from_preset(google(vocabulary=None))
    assert model.preprocessor is None
    assert largest_difference(model, golden) < 1e-5


def test_what_is_written_is_what_google_wrote(google, golden, tmp_path):
    save_to_google(BertPretrainer.from_preset(google()), tmp_path / "ours")
    assert equal(variables_of(tmp_path / "ours"), golden["weight"])
    config = json.loads((tmp_path / "ours" / "bert_config.json").read_text())
    assert golden["config"].items() <= config.items()
    names = sorted(path.name for path in (tmp_path / "ours").iterdir())
    data, index = "bert_model.ckpt.data-00000-of-00001", "bert_model.ckpt.index"
    assert names == ["bert_config.json", data, index, "vocab.txt"]
    written = (tmp_path / "ours" / "vocab.txt").read_bytes()
    assert written == (tmp_path / "theirs" / "vocab.txt").read_bytes()


def test_a_classifier_is_written_as_run_classifier_names_it(google, golden, tmp_path):
    weights = {**encoder_of(golden), **random_variables(CLASSES)}
    save_to_google(BertClassifier.from_preset(google(weights)), tmp_path / "ours")
    assert equal(variables_of(tmp_path / "ours"), weights)


@pytest.mark.parametrize(
    ("make", "activation"),
    [
        (lambda backbone: backbone, "gelu"),
        (BertPretrainer, "gelu_approximate"),
        (lambda backbone: BertPretrainer(backbone, next_sentence=False), "gelu"),
        (lambda backbone: BertClassifier(backbone, 4), "relu"),
        (lambda backbone: BertClassifier(backbone, 1), "tanh"),
    ],
    ids=["backbone", "pretrainer", "masked LM", "classifier", "regression"],
)
def test_every_model_comes_back_bit_for_bit(backbone, randomized, same, tmp_path, make, activation):
    encoder = backbone(activation=activation, dropout=0.2, attention_dropout=0.3, num_segments=4)
    model = randomized(make(encoder))
    save_to_google(model, tmp_path / "google")
    back = type(model).from_preset(tmp_path / "google")
    assert same(model, back)
    assert not back.load_report.new and not back.load_report.left_over

    def settings(model):
        config = getattr(model, "backbone", model).get_config()
        return {name: value for name, value in config.items() if name != "name"}

    assert settings(back) == settings(model)


@pytest.mark.parametrize("lowercase", [True, False])
def test_text_is_read_as_before(backbone, words, tmp_path, lowercase):
    pytest.importorskip("tensorflow_text", reason="raw text needs TensorFlow Text")
    preprocessor = BertPreprocessor(BertTokenizer(words, lowercase), sequence_length=16)
    save_to_google(BertClassifier(backbone(num_layers=1), 2, preprocessor), tmp_path / "google")
    back = BertClassifier.from_preset(tmp_path / "google")
    assert back.preprocessor.get_config() == preprocessor.get_config()


@pytest.mark.parametrize(
    ("model", "encoder", "message"),
    [
        ({}, {"activation": "silu"}, "the activation 'silu', which Google's code doesn't have"),
        ({}, {"layer_norm_epsilon": 1e-5}, "a LayerNorm epsilon of 1e-05"),
        ({"masked_lm_epsilon": 1e-3}, {}, "a LayerNorm epsilon of 0.001"),
        ({"masked_lm_activation": "relu"}, {}, "another activation in its masked-LM head"),
        ({"tie_embeddings": False}, {}, "a masked-LM table of its own"),
    ],
)
def test_what_googles_code_cannot_hold_is_refused(backbone, tmp_path, model, encoder, message):
    with pytest.raises(ValueError, match=message):
        save_to_google(BertPretrainer(backbone(**encoder), **model), tmp_path / "google")
    assert not (tmp_path / "google").exists()


@pytest.mark.shared
def test_a_checkpoint_with_adam_slots_by_another_hand(shared_data, tmp_path):
    source = shared_data / "checkpoints" / "google-tf1-toy"
    model = BertTask.from_preset(source)
    assert type(model) is BertPretrainer and model.next_sentence
    assert not model.load_report.new and not model.load_report.left_over
    theirs = variables_of(source)
    kept = {name: w for name, w in theirs.items() if name.startswith(("bert/", "cls/"))}
    kept = {name: w for name, w in kept.items() if "adam" not in name}
    assert len(kept) == 46 < len(theirs)
    save_to_google(model, tmp_path / "ours")
    assert equal(variables_of(tmp_path / "ours"), kept)
