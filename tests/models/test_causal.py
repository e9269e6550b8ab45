"""Causal encoders and heads with an LSTM: what they see, what they keep, what they refuse."""

import json
import logging

import keras
import numpy as np
import pytest

from keras_bert import (
    Batching,
    BertBackbone,
    BertClassifier,
    BertEmbedder,
    BertMultipleChoice,
    BertPretrainer,
    BertSpanLabeler,
    BertTask,
    BertTokenClassifier,
)
from keras_bert.presets.save_checkpoint import (
    save_to_google,
    save_to_hugging_face,
    save_to_keras_hub,
)

LSTM = 6  # weights: two directions with a kernel, a recurrent kernel and a bias each
HEADS = {  # a head with an LSTM, and labels of eight rows of twelve tokens
    "texts": (BertClassifier, {"num_classes": 2}, np.arange(8) % 2),
    "tokens": (BertTokenClassifier, {"num_classes": 2}, np.arange(96).reshape(8, 12) % 2),
    "spans": (BertSpanLabeler, {}, {"start": np.arange(8) % 3, "end": np.arange(8) % 3}),
}


@pytest.fixture
def causal(make_backbone, randomized):
    return randomized(make_backbone(num_layers=1, causal=True, dropout=0.0))


@pytest.fixture
def deep(make_backbone, randomized):
    return randomized(make_backbone(causal=True, dropout=0.0))


@pytest.fixture(params=HEADS)
def head(request):
    return HEADS[request.param]


def arrays(outputs):
    return keras.tree.map_structure(keras.ops.convert_to_numpy, outputs)


def test_later_tokens_change_no_bit_of_the_logits(deep, inputs, randomized):
    model = randomized(BertPretrainer(deep, next_sentence=False))
    ids = np.where(inputs["token_ids"] == 0, 5, inputs["token_ids"])
    segments = np.zeros_like(ids)
    positions = np.tile(np.arange(12, dtype="int32"), (8, 1))

    def logits_of(ids, segments):
        x = {"token_ids": ids, "segment_ids": segments, "mask_positions": positions}
        return arrays(model(x))["masked_lm"]

    before = logits_of(ids, segments)
    for place in (1, 5, 11):
        is_later = np.arange(12) >= place
        after = logits_of(np.where(is_later, 34 - ids, ids), np.where(is_later, 1, segments))
        assert np.array_equal(before[:, :place], after[:, :place])
        assert (np.abs(before - after)[:, place].max(axis=-1) > 1e-3).all()  # sees itself


def test_the_pooled_vector_is_that_of_the_last_token(assert_close, deep, inputs):
    found = arrays(deep(inputs))
    lengths = inputs["padding_mask"].sum(axis=1)
    last = found["sequence_output"][np.arange(8), lengths - 1]
    assert_close(found["pooled_output"], arrays(deep.pooler(last)))
    for row, length in enumerate(lengths):
        alone = arrays(
            deep({n: inputs[n][row, None, :length] for n in ("token_ids", "segment_ids")})
        )
        assert_close(found["pooled_output"][row], alone["pooled_output"][0])


def test_packed_sequences_give_what_padded_ones_give(assert_close, deep, inputs):
    rows, lengths = [1, 4, 5], [5, 3, 7]
    padded = arrays(deep({name: x[rows] for name, x in inputs.items()}))
    packed = {
        name: np.concatenate([inputs[name][r, :n] for r, n in zip(rows, lengths, strict=True)])
        for name in ("token_ids", "segment_ids")
    }
    packed = {name: np.pad(x, (0, 1))[None] for name, x in packed.items()}  # and one of padding
    packed["sequence_ids"] = np.array([[1] * 5 + [2] * 3 + [3] * 7 + [0]])
    packed["cls_positions"] = np.array([[0, 5, 8, 0]])
    found = arrays(deep(packed))
    assert_close(found["pooled_output"][0, :3], padded["pooled_output"])
    tokens = [padded["sequence_output"][row, :n] for row, n in enumerate(lengths)]
    assert_close(found["sequence_output"][0, :15], np.concatenate(tokens))
    del packed["cls_positions"]
    [first] = arrays(deep(packed))["pooled_output"]
    assert_close(first, padded["pooled_output"][0])
    with pytest.raises(ValueError, match="give them with cls_positions"):
        deep({"token_ids": packed["token_ids"], "cls_positions": np.array([[0, 5]])})


def test_presets_and_files_keep_the_encoder_and_the_lstm(causal, inputs, head, varied, tmp_path):
    make, arguments, _ = head
    model = varied(make(causal, bilstm_units=4, **arguments))
    expected = arrays(model(inputs))
    model.save_to_preset(tmp_path / "preset")
    model.save(tmp_path / "model.keras")
    for loaded in (
        BertTask.from_preset(tmp_path / "preset"),
        keras.models.load_model(tmp_path / "model.keras"),
    ):
        assert type(loaded) is make and loaded.bilstm_units == 4 and loaded.backbone.causal
        keras.tree.map_structure(np.testing.assert_array_equal, arrays(loaded(inputs)), expected)
    assert BertBackbone.from_preset(tmp_path / "preset").causal


def test_a_pretrained_encoder_trains_with_a_new_lstm(causal, inputs, head, eager, tmp_path):
    make, arguments, labels = head
    BertPretrainer(causal, next_sentence=False).save_to_preset(tmp_path / "pretrained")
    model = make.from_preset(tmp_path / "pretrained", bilstm_units=4, **arguments)
    for own, expected in zip(model.backbone.weights, causal.weights, strict=True):
        assert own.path == expected.path and np.array_equal(own, expected)
    new = [name for name in model.load_report.new if name.startswith("bilstm/")]
    assert len(new) == LSTM and len(model.load_report.new) == LSTM + 2
    eager(model, optimizer=keras.optimizers.SGD(1.0))
    trained = [weight for weight in model.trainable_weights if "pooler" not in weight.path]
    assert len(trained) == len(model.trainable_weights)  # no head with an LSTM reads the pooler
    before = arrays([weight.value for weight in trained])
    model.fit(inputs, labels, verbose=0)
    after = arrays([weight.value for weight in trained])
    same = [w.path for w, a, b in zip(trained, before, after, strict=True) if np.array_equal(a, b)]
    assert not same


def test_adapters_and_the_lstm_go_to_another_model(causal, inputs, tmp_path, varied):
    pytest.importorskip("safetensors", reason="pip install safetensors")
    first, second = (BertClassifier(causal, 2, bilstm_units=4) for _ in range(2))
    varied(first)
    expected = arrays(first(inputs))
    first.enable_lora(2)
    first.save_lora(tmp_path / "lora.safetensors")
    first.merge_lora()
    second.load_lora(tmp_path / "lora.safetensors")
    assert np.array_equal(arrays(second(inputs)), expected)


@pytest.mark.parametrize("make", [BertTokenClassifier, BertSpanLabeler])
def test_heads_that_judge_tokens_say_what_these_see(make, causal, make_backbone, caplog):
    arguments = {} if make is BertSpanLabeler else {"num_classes": 2}
    with caplog.at_level(logging.WARNING, "keras_bert"):
        make(causal, bilstm_units=4, **arguments)
        make(make_backbone(num_layers=1), **arguments)
        BertClassifier(causal, 2)
        assert not caplog.records
        make(causal, **arguments)
    [record] = caplog.records
    assert f"{make.__name__} has a causal encoder" in record.getMessage()
    assert "bilstm_units" in record.getMessage()


def test_tasks_of_both_sides_refuse_a_causal_encoder(causal):
    with pytest.raises(ValueError, match="pass next_sentence=False"):
        BertPretrainer(causal)
    with pytest.raises(ValueError, match='Pass pooling="mean" or "max"'):
        BertEmbedder(causal, pooling="cls")
    model = BertPretrainer(causal, next_sentence=False)
    with pytest.raises(ValueError, match="both sides of a .MASK.*score_texts"):
        model.fill_mask("a [MASK]")
    for units in (-1, 2.5):
        with pytest.raises(ValueError, match="bilstm_units"):
            BertClassifier(causal, 2, bilstm_units=units)
    with pytest.raises(ValueError, match="causal"):
        BertBackbone(30, 1, 2, 16, 32, causal="yes")


def test_other_libraries_hold_no_causal_encoder_that_they_would_read_otherwise(causal, tmp_path):
    model = BertPretrainer(causal, next_sentence=False)
    for save in (save_to_google, save_to_keras_hub):
        with pytest.raises(ValueError, match="causal encoder"):
            save(model, tmp_path / "theirs")
        assert not (tmp_path / "theirs").exists()
    for model in (BertClassifier(causal, 2), BertMultipleChoice(causal)):
        with pytest.raises(ValueError, match="causal encoder.*.CLS..*last token.*save_to_preset"):
            save_to_hugging_face(model, tmp_path / "theirs")
    save_to_hugging_face(BertClassifier(causal, 2).backbone, tmp_path / "theirs")
    assert BertBackbone.from_preset(tmp_path / "theirs").causal


def test_classifiers_of_decoders_are_not_read_otherwise(make_backbone, causal, tmp_path):
    save_to_hugging_face(BertClassifier(make_backbone(), 2), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "is_decoder": True}))
    for make in (BertClassifier, BertTask):
        with pytest.raises(ValueError, match="decoder.*.CLS..*last token"):
            make.from_preset(tmp_path)
    assert BertBackbone.from_preset(tmp_path).causal


@pytest.mark.parametrize("save", [save_to_google, save_to_hugging_face, save_to_keras_hub])
def test_other_libraries_have_no_place_for_an_lstm(save, make_backbone, head, tmp_path):
    make, arguments, _ = head
    model = make(make_backbone(num_layers=1), bilstm_units=4, **arguments)
    with pytest.raises(ValueError, match="LSTM .bilstm_units=4.*save_to_preset"):
        save(model, tmp_path / "theirs")


def test_an_lstm_reads_rows_of_one_sequence(make_backbone, inputs, head):
    make, arguments, labels = head
    model = make(make_backbone(num_layers=1), bilstm_units=4, **arguments)
    packed = {
        "token_ids": inputs["token_ids"],
        "sequence_ids": inputs["padding_mask"],
        "cls_positions": np.zeros((8, 1), "int32"),
    }
    message = "no input 'sequence_ids'.*rows of one sequence each"
    for read in (
        lambda: model(packed),
        lambda: model.predict(packed, verbose=0),
        lambda: model.fit(packed, labels, verbose=0),
    ):
        with pytest.raises(ValueError, match=message):
            read()
    message = f"A {make.__name__} with bilstm_units reads one sequence per row.*packed=True"
    with pytest.raises(ValueError, match=message):
        model.fit(["a"], [0], batching=Batching(2, packed=True))
