"""Packed batches in `fit` and `evaluate`: the numbers of the same sequences in padded rows."""

import keras
import numpy as np
import pytest

from keras_bert import (
    Batching,
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
    BertMultipleChoice,
    BertSpanLabeler,
    BertSpanLabelerPreprocessor,
    BertTokenClassifier,
    BertTokenClassifierPreprocessor,
    finetune,
)

LETTERS = [*"abcdefghijklmnopqrstuvwxy"]
PADDED = Batching(64, pad_to="longest")
PACKED = Batching(64, packed=True)


@pytest.fixture(scope="module")
def backbone(make_backbone):
    return make_backbone(dropout=0.0, max_sequence_length=32)


def texts_of(rng, count, longest=12):
    return [" ".join(rng.choice(LETTERS, rng.integers(1, longest))) for _ in range(count)]


def classification(rng, letters, backbone, classes=3, pairs=False, **settings):
    reader = BertClassifierPreprocessor(letters, sequence_length=32, **settings)
    model = BertClassifier(backbone, classes, reader, dropout=0.0)
    texts = texts_of(rng, 21)
    return model, (texts, texts_of(rng, 21)) if pairs else texts, rng.integers(0, 3, 21)


def regression(rng, letters, backbone):
    model, texts, _ = classification(rng, letters, backbone, classes=1)
    return model, texts, rng.normal(size=21)


def several_labels(rng, letters, backbone):
    model, texts, _ = classification(rng, letters, backbone, multi_label=True)
    return model, texts, rng.integers(0, 2, (21, 3))


def tags(rng, letters, backbone):
    reader = BertTokenClassifierPreprocessor(letters, sequence_length=16)
    words = [text.split() for text in texts_of(rng, 21)]
    model = BertTokenClassifier(backbone, 3, reader, dropout=0.0)
    return model, words, [rng.integers(0, 3, len(sentence)).tolist() for sentence in words]


def spans(rng, letters, backbone):
    """Questions of one length: without padding, which has logits of its own in padded rows."""
    reader = BertSpanLabelerPreprocessor(letters, sequence_length=32, max_question_length=4)
    return BertSpanLabeler(backbone, reader), [question(rng, 5) for _ in range(20)], None


def question(rng, words):
    context = " ".join(rng.choice(LETTERS, words))
    start = 2 * int(rng.integers(words))
    answer = {"text": context[start], "answer_start": start}
    return {"question": "a b", "context": context, "answers": [answer]}


def more():
    """Metrics of classes, new ones for each model."""
    return {
        name: ["accuracy", keras.metrics.SparseCategoricalCrossentropy(from_logits=True)]
        for name in ("metrics", "weighted_metrics")
    }


def binary():
    accuracy = [keras.metrics.BinaryAccuracy(threshold=0.0) for _ in range(2)]
    auc = keras.metrics.AUC(from_logits=True, name="auc")
    return {"metrics": [accuracy[0], auc], "weighted_metrics": accuracy[1:]}


def errors():
    return {"metrics": ["mae"], "weighted_metrics": ["mse"]}


CASES = {  # how examples are made, with what settings, whether with weights, and other metrics
    "sentences": (classification, {}, False, more),
    "weighted sentences": (classification, {}, True, more),
    "pairs": (classification, {"pairs": True}, False, dict),
    "windows": (classification, {"window_stride": 6}, True, dict),
    "a regression": (regression, {}, False, errors),
    "several labels": (several_labels, {}, True, binary),
    "tags": (tags, {}, False, dict),
    "spans": (spans, {}, False, dict),
}
SLOW = ("sentences", "pairs", "windows")


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=pytest.mark.slow if c in SLOW else []) for c in CASES]
)
def test_losses_gradients_and_metrics_are_those_of_padded_rows(
    assert_close, case, letters, backbone, eager, varied
):
    make, settings, is_weighted, metrics = CASES[case]
    rng = np.random.default_rng(0)
    model, x, y = make(rng, letters, backbone, **settings)
    varied(model)  # otherwise it predicts one class
    weights = rng.uniform(0.1, 3, len(y)).astype("float32") if is_weighted else None
    [padded], [packed] = (model.batches(x, y, weights, batching=b) for b in (PADDED, PACKED))
    assert len(packed[0]["token_ids"]) < len(padded[0]["token_ids"])
    (logs, step), (packed_logs, packed_step) = (
        trained(model, x, y, weights, batching, eager, metrics) for batching in (PADDED, PACKED)
    )
    assert_close(packed_logs, logs)
    assert_close(packed_step, step)
    assert np.linalg.norm(step) > 1


def trained(model, x, y, weights, batching, eager, metrics):
    """The logs of a step, and what it adds to the weights: the gradient times a large number."""
    before = [keras.ops.convert_to_numpy(variable) for variable in model.trainable_variables]
    eager(model, optimizer=keras.optimizers.SGD(1e4), **metrics())
    history = model.fit(x, y, sample_weight=weights, batching=batching, epochs=1, verbose=0)
    step = []
    for variable, value in zip(model.trainable_variables, before, strict=True):
        step.append((keras.ops.convert_to_numpy(variable) - value).ravel())
        variable.assign(value)
    return {name: values[0] for name, values in history.history.items()}, np.concatenate(step)


def test_padding_takes_part_in_the_softmax_of_spans_unless_rows_are_packed(
    letters, backbone, eager
):
    model, *_ = spans(np.random.default_rng(4), letters, backbone)
    eager(model)
    questions = [question(np.random.default_rng(5), words) for words in (2, 12)]
    [(inputs, labels)] = model.batches(questions, batching=PADDED)
    logits = {name: np.float64(part) for name, part in model.predict_on_batch(inputs).items()}

    def loss(is_read):  # of these tokens
        read = {name: np.where(is_read, part, -np.inf) for name, part in logits.items()}
        return np.mean(
            [
                np.log(np.exp(read[name]).sum(axis=1)) - part[[0, 1], np.array(labels[name])]
                for name, part in logits.items()
            ]
        )

    is_token = np.array(inputs["padding_mask"]) == 1
    for batching, expected in ((PADDED, loss(True)), (PACKED, loss(is_token))):
        found = model.evaluate(questions, batching=batching, return_dict=True, verbose=0)["loss"]
        assert found == pytest.approx(expected, rel=1e-5)
    assert loss(True) > 1.05 * loss(is_token)


def test_rows_packed_before_are_read_as_others_are(
    letters, backbone, tensorflow, eager, assert_close, refused
):
    from keras_bert.graph.datasets import as_dataset

    model, texts, _ = classification(np.random.default_rng(3), letters, backbone)
    eager(model)
    data = model.batches(texts, [0] * 21, batching=Batching(2, packed=True, sequences_per_row=3))
    [(x, y, weights)] = model.batches(texts, [0] * 21, batching=PACKED)
    found = model.evaluate(x, y, sample_weight=weights, verbose=0)
    assert_close(found, model.evaluate(texts, [0] * 21, verbose=0))
    refused("y must have a value for each of cls_pos", model.fit, x, y[:, 0])
    wrong = as_dataset(data).map(lambda x, labels, weights: (x, labels + 3, weights))
    with pytest.raises(tensorflow.errors.InvalidArgumentError, match="in 0 to 2"):
        model.evaluate(wrong, verbose=0)
    assert model.predict(as_dataset(data), verbose=0).shape[1:] == (3, 3)  # rows, slots, classes
    for read in (model.answer, model.scores):
        refused("packed rows .sequence_ids.", read, as_dataset(data))
    refused("packed", model.answer, data)
    refused("packed", model.scores, data, np.zeros(21))


def with_features(backbone):
    return BertClassifier(backbone, 2, num_features=1)


@pytest.mark.parametrize(
    "make, x, y",
    [
        (BertEmbedder, ["a b", "c"], [0, 1]),
        (BertMultipleChoice, [{"context": "a", "choices": ["b", "c"], "label": 0}], None),
        (with_features, {"text": ["a", "b"], "features": [[1.0], [2.0]]}, [0, 1]),
    ],
)
def test_tasks_of_one_sequence_per_row_refuse_to_pack(make, x, y, letters, backbone, tmp_path):
    model = make(backbone)
    model.preprocessor = model.preprocessor_class()(letters, sequence_length=8)
    model.compile(loss="mse")
    message = f"{type(model).__name__}.* takes no packed rows"
    for read in (model.fit, model.evaluate, model.batches):
        with pytest.raises(ValueError, match=message):
            read(x, y, batching=PACKED)
    with pytest.raises(ValueError, match=message):
        finetune(model, (x, y), (x, y), tmp_path / "run", batching=PACKED)
