"""Packed batches in `fit` and `evaluate`: the numbers of the same sequences in padded rows."""

import keras
import numpy as np
import pytest

from keras_bert import Batching, finetune

LETTERS = [*"abcdefghijklmnopqrstuvwxy"]
PADDED = Batching(64, pad_to="longest")
PACKED = Batching(64, packed=True)


@pytest.fixture(scope="module")
def make(make_backbone, make_case):
    """Makes the task of a case without dropout, which reads up to 32 tokens."""

    def make(name, length=32):
        dropout = {} if name in ("questions", "vectors") else {"dropout": 0.0}
        model = make_case(name, make_backbone(dropout=0.0, max_sequence_length=32), **dropout)
        reader = model.preprocessor
        model.preprocessor = type(reader).like(reader, sequence_length=length)
        return model

    return make


def texts_of(rng, count, longest=12):
    return [" ".join(rng.choice(LETTERS, rng.integers(1, longest))) for _ in range(count)]


def examples(name):
    """Random examples of a case and their labels; questions of one length.

    In padded rows, padding has logits of its own.
    """
    rng = np.random.default_rng(0)
    texts = texts_of(rng, 21)
    words = [text.split() for text in texts]
    x = {"pairs": (texts, texts_of(rng, 21)), "tags": words}
    x["questions"] = [question(rng, 5) for _ in range(20)]
    y = {"score": rng.normal(size=21), "labels": rng.integers(0, 2, (21, 3)), "questions": None}
    y["tags"] = [rng.integers(0, 3, len(sentence)).tolist() for sentence in words]
    return x.get(name, texts), y.get(name, rng.integers(0, 3, 21))


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


CASES = {  # a case, its longest rows, whether there are weights, and other metrics
    "sentences": ("classes", 32, True, more),
    "pairs": ("pairs", 32, False, dict),
    "windows": ("windows", 8, True, dict),
    "a regression": ("score", 32, False, errors),
    "several labels": ("labels", 32, True, binary),
    "tags": ("tags", 32, False, dict),
    "spans": ("questions", 32, False, dict),
}
SLOW = ("sentences", "pairs", "windows")


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=pytest.mark.slow if c in SLOW else []) for c in CASES]
)
def test_losses_gradients_and_metrics_are_those_of_padded_rows(
    assert_close, case, make, eager, varied
):
    name, length, is_weighted, metrics = CASES[case]
    model = varied(make(name, length))  # otherwise it predicts one class
    x, y = examples(name)
    weights = np.random.default_rng(1).uniform(0.1, 3, 21).astype("float32")
    weights = weights if is_weighted else None
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


def test_padding_takes_part_in_the_softmax_of_spans_unless_rows_are_packed(make, eager):
    model = eager(make("questions"))
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


def test_rows_packed_before_are_read_as_others_are(make, tensorflow, eager, assert_close, refused):
    from keras_bert.graph.datasets import as_dataset

    model, (texts, _) = eager(make("classes")), examples("classes")
    data = model.batches(texts, [0] * 21, batching=Batching(2, packed=True, sequences_per_row=3))
    [(x, y, weights)] = model.batches(texts, [0] * 21, batching=PACKED)
    found = model.evaluate(x, y, sample_weight=weights, verbose=0)
    assert_close(found, model.evaluate(texts, [0] * 21, verbose=0))
    refused("y must have a value for each of cls_pos", model.fit, x, y[:, 0])
    wrong = as_dataset(data).map(lambda x, labels, weights: (x, labels + 3, weights))
    with pytest.raises(tensorflow.errors.InvalidArgumentError, match="in 0 to 2"):
        model.evaluate(wrong, verbose=0)
    assert model.predict(as_dataset(data), verbose=0).shape[1:] == (3, 3)  # rows, slots, classes
    one_hot = as_dataset(data).map(lambda x, y, w: (x, tensorflow.one_hot(y, 3) * 0.9, w))
    loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    model.compile(loss=loss, run_eagerly=True)
    assert_close(model.evaluate(one_hot, verbose=0), 0.9 * found[0])
    for read in (model.answer, model.scores):
        refused("packed rows .sequence_ids.", read, as_dataset(data))
    refused("packed", model.answer, data)
    refused("packed", model.scores, data, np.zeros(21))


@pytest.mark.parametrize("name", ["vectors", "choices", "features"])
def test_tasks_of_one_sequence_per_row_refuse_to_pack(name, make, cases, tmp_path, refused):
    model, (x, y) = make(name), cases[name][1:3]
    model.compile(loss="mse")
    message = f"{type(model).__name__}.* takes no packed rows"
    for read in (model.fit, model.evaluate, model.batches):
        refused(message, read, x, y, batching=PACKED)
    refused(message, finetune, model, (x, y), (x, y), tmp_path / "run", batching=PACKED)
