"""KerasHub's BERT and ours compute the same, whichever of them wrote the preset."""

import json
import logging
import shutil

import keras
import numpy as np
import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertEmbedder,
    BertPreprocessor,
    BertPretrainer,
    BertTask,
    BertTokenizer,
    save_to_keras_hub,
)

keras_nlp = pytest.importorskip("keras_nlp")
# Keras says so of KerasHub's lists of layers in a preset that doesn't fit its config.
pytestmark = pytest.mark.filterwarnings("ignore:Skipping nested container")

SIZES = {
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 12,
    "max_sequence_length": 16,
}
INPUTS = {
    "token_ids": np.array([[2, 7, 9, 4, 3, 8, 29, 3], [2, 4, 3, 0, 0, 0, 0, 0]], "int32"),
    "segment_ids": np.array([[0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0, 0]], "int32"),
    "padding_mask": np.array([[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0, 0]], "int32"),
}
POSITIONS = {"mask_positions": np.array([[3, 6], [1, 0]], "int32")}
TASKS = {
    "BertMaskedLM": BertPretrainer,
    "BertTextClassifier": BertClassifier,
    "BertTextEmbedder": BertEmbedder,
}


def their_backbone(**settings):
    return keras_nlp.models.BertBackbone(vocabulary_size=30, **{**SIZES, **settings})


def their_task(task, preprocessor=None, **settings):
    more = {"BertTextClassifier": {"num_classes": 3}}.get(task, {})
    cls = getattr(keras_nlp.models, task)
    return cls(backbone=their_backbone(), preprocessor=preprocessor, **{**more, **settings})


def their_preprocessor(task, words, **tokenizer):
    cls = getattr(keras_nlp.models, task).preprocessor_cls
    return cls(keras_nlp.models.BertTokenizer(vocabulary=words, **tokenizer), sequence_length=12)


def inputs_of(model):
    return {name: value for name, value in {**INPUTS, **POSITIONS}.items() if name in model.input}


def outputs_of(model):
    """`{name: array}` of a model of either library."""
    inputs = inputs_of(model)
    outputs = model(inputs)
    if not isinstance(outputs, dict):
        outputs = {"masked_lm" if "mask_positions" in inputs else "outputs": outputs}
    return {name: keras.ops.convert_to_numpy(value) for name, value in outputs.items()}


def assert_same_outputs(ours, theirs, limit=1e-5):
    ours, theirs = outputs_of(ours), outputs_of(theirs)
    assert theirs.keys() <= ours.keys()
    for name, expected in theirs.items():
        assert np.ptp(expected) > 0.1, "the weights tell inputs apart"
        assert np.abs(ours[name] - expected).max() < limit, name


def gradients_of(tensorflow, model):
    """`{path: array}` of the gradients of a weighted sum of a model's outputs."""
    with tensorflow.GradientTape() as tape:
        outputs = model(inputs_of(model))
        outputs = outputs if isinstance(outputs, dict) else {"outputs": outputs}
        generator = np.random.default_rng(7)
        loss = sum(
            tensorflow.reduce_sum(outputs[name] * generator.normal(size=outputs[name].shape))
            for name in sorted(outputs)
        )
    weights = model.trainable_weights
    gradients = tape.gradient(loss, [weight.value for weight in weights])
    return {
        weight.path: tensorflow.convert_to_tensor(gradient).numpy()
        for weight, gradient in zip(weights, gradients, strict=True)
        if gradient is not None  # of the pooler, where the head doesn't stand on it
    }


def as_ours(theirs):
    """Arrays under KerasHub's paths as ours would be: `{path: array}`."""
    renamed = {
        "token_embedding/embeddings": "embeddings/token_embedding/embeddings",
        "segment_embedding/embeddings": "embeddings/segment_embedding/embeddings",
        "position_embedding/embeddings": "embeddings/position_embedding/embeddings",
        "embeddings_layer_norm/gamma": "embeddings/norm/gamma",
        "embeddings_layer_norm/beta": "embeddings/norm/beta",
        "pooled_dense/kernel": "pooler/kernel",
        "pooled_dense/bias": "pooler/bias",
        "mlm_head/intermediate_dense/kernel": "masked_lm/dense/kernel",
        "mlm_head/intermediate_dense/bias": "masked_lm/dense/bias",
        "mlm_head/intermediate_layer_norm/gamma": "masked_lm/norm/gamma",
        "mlm_head/intermediate_layer_norm/beta": "masked_lm/norm/beta",
        "mlm_head/output_bias": "masked_lm/bias",
        "logits/kernel": "logits/kernel",
        "logits/bias": "logits/bias",
    }
    ours = {renamed[path]: array for path, array in theirs.items() if path in renamed}
    for i in range(2):
        layer, attention = f"transformer_layer_{i}/", f"transformer_layer_{i}/self_attention_layer/"
        ours[f"block_{i}/attention/query_key_value/kernel"] = np.hstack(
            [
                theirs[f"{attention}{part}/kernel"].reshape(8, 8)
                for part in ("query", "key", "value")
            ]
        )
        ours[f"block_{i}/attention/query_key_value/bias"] = np.hstack(
            [theirs[f"{attention}{part}/bias"].reshape(8) for part in ("query", "key", "value")]
        )
        kernel = theirs[f"{attention}attention_output/kernel"]
        ours[f"block_{i}/attention/output_dense/kernel"] = kernel.reshape(8, 8)
        ours[f"block_{i}/attention/output_dense/bias"] = theirs[f"{attention}attention_output/bias"]
        for name, their_name, variables in (
            ("attention_norm", "self_attention_layer_norm", ("gamma", "beta")),
            ("output_norm", "feedforward_layer_norm", ("gamma", "beta")),
            ("intermediate_dense", "feedforward_intermediate_dense", ("kernel", "bias")),
            ("output_dense", "feedforward_output_dense", ("kernel", "bias")),
        ):
            for variable in variables:
                ours[f"block_{i}/{name}/{variable}"] = theirs[f"{layer}{their_name}/{variable}"]
    return ours


def test_a_backbone_is_read(randomized, weights_of, same, tmp_path):
    theirs = randomized(their_backbone(dropout=0.2, num_segments=3))
    theirs.save_to_preset(str(tmp_path))
    ours = BertBackbone.from_preset(tmp_path)
    assert_same_outputs(ours, theirs)
    assert same(ours, as_ours(weights_of(theirs)))
    assert not ours.load_report.new and not ours.load_report.left_over
    assert (ours.dropout, ours.attention_dropout, ours.num_segments) == (0.2, 0.2, 3)
    assert (ours.activation, ours.layer_norm_epsilon) == ("gelu_approximate", 1e-12)


@pytest.mark.parametrize(
    ("task", "settings", "expected"),
    [
        (
            "BertMaskedLM",
            {},
            {"next_sentence": False, "masked_lm_activation": "gelu", "masked_lm_epsilon": 1e-5},
        ),
        ("BertTextClassifier", {"dropout": 0.3}, {"num_classes": 3, "dropout": 0.3}),
        ("BertTextEmbedder", {}, {"pooling": "mean", "normalize": True}),
        (
            "BertTextEmbedder",
            {"pooling_mode": "max", "normalize": False},
            {"pooling": "max", "normalize": False},
        ),
        (
            "BertTextEmbedder",
            {"pooling_mode": "cls", "normalize": False},
            {"pooling": "cls", "normalize": False},
        ),
    ],
)
def test_every_task_is_read(randomized, weights_of, same, tmp_path, task, settings, expected):
    theirs = randomized(their_task(task, **settings))
    theirs.save_to_preset(str(tmp_path))
    ours = BertTask.from_preset(tmp_path)
    assert type(ours) is TASKS[task]
    assert {name: ours.get_config()[name] for name in expected} == expected
    assert_same_outputs(ours, theirs)
    assert same(ours, as_ours(weights_of(theirs)))
    assert not ours.load_report.new and not ours.load_report.left_over


def test_the_masked_lm_head_keeps_its_own_gelu_and_epsilon(randomized, tmp_path):
    theirs = randomized(their_task("BertMaskedLM"))
    theirs.save_to_preset(str(tmp_path))
    as_saved = outputs_of(BertPretrainer.from_preset(tmp_path))["masked_lm"]
    for other in ({"masked_lm_activation": "gelu_approximate"}, {"masked_lm_epsilon": 1e-2}):
        outputs = outputs_of(BertPretrainer.from_preset(tmp_path, **other))["masked_lm"]
        assert np.abs(outputs - as_saved).max() > 2e-5


@pytest.mark.parametrize("task", [None, *TASKS])
def test_gradients_are_theirs(tensorflow, randomized, tmp_path, task):
    theirs = randomized(their_backbone() if task is None else their_task(task))
    theirs.save_to_preset(str(tmp_path))
    ours = (BertBackbone if task is None else BertTask).from_preset(tmp_path)
    expected = as_ours(gradients_of(tensorflow, theirs))
    found = gradients_of(tensorflow, ours)
    assert found.keys() == expected.keys()
    for path, gradient in found.items():
        assert np.abs(expected[path]).max() > 1e-4
        difference = np.abs(gradient - expected[path]).max() / np.abs(expected[path]).max()
        assert difference < 1e-4, path


OURS = {
    "BertBackbone": lambda backbone: backbone,
    "BertMaskedLM": lambda backbone: BertPretrainer(
        backbone, next_sentence=False, masked_lm_activation="gelu", masked_lm_epsilon=1e-5
    ),
    "BertTextClassifier": lambda backbone: BertClassifier(backbone, 3, dropout=0.3),
    "BertTextEmbedder": lambda backbone: BertEmbedder(backbone, pooling="max", normalize=False),
}


@pytest.mark.parametrize("task", OURS)
def test_what_we_write_keras_hub_loads(backbone, randomized, same, caplog, tmp_path, task):
    ours = randomized(OURS[task](backbone(activation="gelu_approximate", dropout=0.2)))
    with caplog.at_level(logging.WARNING, "keras_bert"):
        save_to_keras_hub(ours, tmp_path / "theirs")
    assert not caplog.text, "nothing is lost on the way"
    without_text = {} if task == "BertBackbone" else {"preprocessor": None}
    cls = getattr(keras_nlp.models, task)
    theirs = cls.from_preset(str(tmp_path / "theirs"), **without_text)
    assert_same_outputs(ours, theirs)
    assert getattr(theirs, "backbone", theirs).dropout == 0.2
    back = type(ours).from_preset(tmp_path / "theirs")
    assert same(ours, back) and not back.load_report.new


@pytest.mark.parametrize("lowercase", [True, False])
def test_their_tokenizer_is_carried_over(words, tmp_path, lowercase):
    preprocessor = their_preprocessor("BertTextClassifier", words, lowercase=lowercase)
    theirs = their_task("BertTextClassifier", preprocessor)
    theirs.save_to_preset(str(tmp_path))
    ours = BertClassifier.from_preset(tmp_path).preprocessor
    assert ours.tokenizer.get_vocabulary() == words
    assert ours.tokenizer.lowercase is lowercase and ours.sequence_length == 12
    texts = ["a b c", "A b", "", "a b c d e f g h i j k l m n o p"]
    found, expected = ours(texts), preprocessor(texts)
    for name in ("token_ids", "segment_ids", "padding_mask"):
        assert np.array_equal(found[name], keras.ops.cast(expected[name], "int32"))
    assert BertClassifier.from_preset(tmp_path, sequence_length=8).preprocessor.sequence_length == 8


def test_a_tokenizer_beside_a_backbone_is_read(words, tmp_path):
    their_backbone().save_to_preset(str(tmp_path))
    tokenizer = keras_nlp.models.BertTokenizer(vocabulary=words, lowercase=True)
    tokenizer.save_to_preset(str(tmp_path))
    ours = BertPretrainer.from_preset(tmp_path)
    assert ours.preprocessor.tokenizer.get_vocabulary() == words
    assert ours.preprocessor.sequence_length == 16
    assert {name.split("/")[0] for name in ours.load_report.new} == {"masked_lm", "next_sentence"}


@pytest.mark.parametrize("lowercase", [True, False])
def test_our_tokenizer_is_carried_over(backbone, words, tmp_path, lowercase):
    preprocessor = BertPreprocessor(BertTokenizer(words, lowercase), sequence_length=12)
    ours = BertClassifier(backbone(activation="gelu_approximate"), 3, preprocessor)
    save_to_keras_hub(ours, tmp_path)
    theirs = keras_nlp.models.BertTextClassifierPreprocessor.from_preset(str(tmp_path))
    texts = ["a b c", "A b", "é"]
    expected, found = preprocessor(texts), theirs(texts)
    for name in ("token_ids", "segment_ids", "padding_mask"):
        assert np.array_equal(expected[name], keras.ops.cast(found[name], "int32"))
    back = BertClassifier.from_preset(tmp_path).preprocessor
    assert back.get_config() == preprocessor.get_config()


def test_a_classifier_of_raw_text_predicts_the_same_there(
    backbone, randomized, preprocessor, tmp_path
):
    ours = BertClassifier(backbone(activation="gelu_approximate"), 3, preprocessor)
    save_to_keras_hub(randomized(ours), tmp_path)
    theirs = keras_nlp.models.BertTextClassifier.from_preset(str(tmp_path))
    texts = ["a b c", "A b", "é"]
    found = theirs.predict(texts, verbose=0)
    np.testing.assert_allclose(found, ours.predict(texts, verbose=0), atol=1e-5)


def test_a_preset_of_another_architecture_is_refused(tmp_path):
    theirs = keras_nlp.models.RobertaBackbone(vocabulary_size=30, **SIZES)
    theirs.save_to_preset(str(tmp_path / "backbone"))
    task = keras_nlp.models.RobertaTextClassifier(theirs, num_classes=2)
    task.save_to_preset(str(tmp_path / "task"))
    for name in ("backbone", "task"):
        with pytest.raises(ValueError, match="can't load a BERT from .*type `RobertaBackbone`"):
            BertTask.from_preset(tmp_path / name)


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        ("config.json", None, r"holds no BERT that is known here: .*'model.weights.h5'"),
        ("config.json", "cut off", "config.json is not JSON"),
        ("model.weights.h5", None, "can't load a BERT from .*model.weights.json. doesn't exist"),
        ("model.weights.h5", "cut off", r"can't load a BERT from .*truncated file"),
        ("task.json", "cut off", "task.json is not JSON"),
        ("task.weights.h5", "cut off", "can't load a BERT from .*truncated file"),
    ],
)
def test_a_broken_folder_is_refused(tmp_path, file, damage, message):
    their_task("BertTextClassifier").save_to_preset(str(tmp_path))
    content = (tmp_path / file).read_bytes()
    (tmp_path / file).unlink()
    if damage is not None:
        (tmp_path / file).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=message):
        BertTask.from_preset(tmp_path)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("vocabulary_size", 31, "can't load a BERT from .*token_embedding"),
        ("max_sequence_length", 20, "can't load a BERT from .*position_embedding"),
        ("num_layers", 3, "can't load a BERT from .*objects could not be loaded"),
        ("num_layers", 1, "a BERT of 1536 weights .* describes one of 1004: they belong to diff"),
    ],
)
def test_weights_of_another_size_are_refused(tmp_path, setting, value, message):
    their_backbone().save_to_preset(str(tmp_path))
    config = json.loads((tmp_path / "config.json").read_text())
    config["config"][setting] = value
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=message):
        BertBackbone.from_preset(tmp_path)


def test_a_vocabulary_longer_than_the_table_is_refused(words, tmp_path):
    their_backbone().save_to_preset(str(tmp_path))
    tokenizer = keras_nlp.models.BertTokenizer(vocabulary=[*words, "more"])
    tokenizer.save_to_preset(str(tmp_path))
    with pytest.raises(ValueError, match="a vocabulary of 31 tokens but a table of 30"):
        BertBackbone.from_preset(tmp_path)


def test_a_head_whose_weights_are_not_there_is_said_to_be_new(randomized, tmp_path, caplog):
    randomized(their_task("BertTextClassifier")).save_to_preset(str(tmp_path))
    (tmp_path / "task.weights.h5").unlink()
    model = BertTask.from_preset(tmp_path)
    assert type(model) is BertClassifier
    assert model.load_report.new == {"logits/kernel": (8, 3), "logits/bias": (3,)}
    assert "lacks logits/kernel, logits/bias: initialised anew" in caplog.text


def test_probabilities_become_logits_and_that_is_said(randomized, tmp_path, caplog):
    theirs = randomized(their_task("BertTextClassifier", activation="softmax"))
    theirs.save_to_preset(str(tmp_path))
    ours = BertTask.from_preset(tmp_path)
    assert "ends in softmax, which is left to you" in caplog.text
    probabilities = keras.ops.softmax(outputs_of(ours)["outputs"])
    np.testing.assert_allclose(probabilities, outputs_of(theirs)["outputs"], atol=1e-6)


def test_a_presets_name_is_its_handle_on_kaggle(randomized, monkeypatch, tmp_path):
    import kagglehub

    theirs = randomized(their_backbone())
    theirs.save_to_preset(str(tmp_path))
    asked = []
    monkeypatch.setattr(kagglehub, "model_download", lambda h: asked.append(h) or str(tmp_path))
    handle = keras_nlp.models.BertBackbone.presets["bert_tiny_en_uncased"]["kaggle_handle"]
    assert handle.startswith("kaggle://keras/bert/keras/bert_tiny_en_uncased")
    for source in ("bert_tiny_en_uncased", handle):
        assert_same_outputs(BertBackbone.from_preset(source), theirs)
    assert asked == [handle.removeprefix("kaggle://")] * 2


def test_an_unknown_name_is_refused():
    for name in ("bert_gigantic_en", "roberta_base_en"):
        message = f"'{name}' is neither a folder nor the name of a KerasHub preset of BERT"
        with pytest.raises(ValueError, match=message):
            BertBackbone.from_preset(name)


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("bert_base_en", r"bert_base_en \(kaggle://keras/bert/keras/bert_base_en/\d+\)"),
        ("kaggle://somebody/bert/keras/tiny/1", "kaggle://somebody/bert/keras/tiny/1"),
    ],
)
def test_kaggle_out_of_reach_is_said(monkeypatch, tmp_path, source, named):
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path))
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens
    message = rf"^{named} could not be fetched from Kaggle: .*ProxyError.*\. Check the handle and"
    with pytest.raises(ValueError, match=message) as caught:
        BertBackbone.from_preset(source)
    assert len(str(caught.value)) < 600


def test_a_handle_that_is_none_is_refused():
    with pytest.raises(
        ValueError, match="kaggle://tiny could not be .* Invalid model handle: tiny"
    ):
        BertBackbone.from_preset("kaggle://tiny")


@pytest.mark.parametrize(
    ("model", "encoder", "message"),
    [
        ({}, {"activation": "relu"}, "activation='relu'; KerasHub's BERT knows none but GELU"),
        ({"masked_lm_activation": "relu"}, {}, "masked_lm_activation='relu'"),
        ({"tie_embeddings": False}, {}, "masked-LM head has a table of its own"),
    ],
)
def test_what_would_be_another_model_there_is_refused(backbone, tmp_path, model, encoder, message):
    with pytest.raises(ValueError, match=message):
        save_to_keras_hub(BertPretrainer(backbone(**encoder), **model), tmp_path / "theirs")
    assert not (tmp_path / "theirs").exists()


def test_what_is_a_little_otherwise_there_is_said(backbone, randomized, caplog, tmp_path):
    encoder = backbone(activation="gelu", attention_dropout=0.3, layer_norm_epsilon=1e-7)
    ours = randomized(BertPretrainer(encoder))
    save_to_keras_hub(ours, tmp_path)
    for difference in (
        "activation='gelu' here, 'gelu_approximate' there",
        "layer_norm_epsilon=1e-07 here, 1e-12 there",
        "attention_dropout=0.3 here, 0.1 there",
        "masked_lm_epsilon=1e-07 here, 1e-05 there",
        "has no place for next_sentence/kernel, next_sentence/bias: left out",
    ):
        assert difference in caplog.text
    theirs = keras_nlp.models.BertMaskedLM.from_preset(str(tmp_path), preprocessor=None)
    assert_same_outputs(ours, theirs, limit=2e-2)


def test_an_earlier_preset_is_replaced(backbone, tmp_path):
    encoder = backbone(activation="gelu_approximate")
    save_to_keras_hub(BertClassifier(encoder, 3), tmp_path / "theirs")
    save_to_keras_hub(encoder, tmp_path / "theirs")
    names = sorted(path.name for path in (tmp_path / "theirs").iterdir())
    assert names == ["config.json", "metadata.json", "model.weights.h5"]
    shutil.copy(__file__, tmp_path / "theirs" / "notes.py")
    with pytest.raises(ValueError, match="also notes.py, which would be lost"):
        save_to_keras_hub(encoder, tmp_path / "theirs")
