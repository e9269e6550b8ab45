"""Properties that all tasks share: arrays from `predict`, dicts from `answer`, batches, files."""

import functools

import keras
import numpy as np
import pytest
from scipy.special import expit, log_softmax

import keras_bert
from keras_bert import Batching, testing
from keras_bert.models.answering import answer_dicts
from keras_bert.preprocessing.forms import take
from tests.marks import slow, weekly
from tests.pairs.examples import rows_of

TASKS = [
    "classes",
    "pairs",
    "features",
    "windows",
    "score",
    "tags",
    "questions",
    "choices",
    "documents",
    "vectors",
    "labels",
]


@pytest.fixture(scope="module")
def task_of(make_backbone, make_case, varied):
    @functools.cache
    def make(name):
        task = varied(make_case(name, make_backbone()))
        return task, task.get_weights()

    return make


@pytest.fixture
def made(task_of, cases, eager, request):
    """`(task, examples, labels, shape of outputs, a key of answers)`, with the first weights."""
    kind, *case, _, _ = cases[request.param]
    task, start = task_of(request.param)
    task.set_weights(start)
    arguments = {"loss": "mse"} if kind == "BertEmbedder" else task.default_compile_args()
    return eager(task, **{**arguments, "optimizer": keras.optimizers.SGD(0.0)}), *case


def each(names):
    return pytest.mark.parametrize("made", names, indirect=True)


def without(*names):
    return each([name for name in TASKS if name not in names])


OF_A_CLASS = ("features", "score", "labels", "pairs")  # that "classes" stands for


@each([slow(n) if n in OF_A_CLASS else n for n in TASKS])
def test_it_keeps_the_contract(made):
    task, x, y, shape, _ = made
    task.optimizer.learning_rate = 0.1
    testing.run_task(task, x, y)
    outputs = keras.tree.flatten(task.predict(x))
    assert {part.shape for part in outputs} == {shape}


@each(TASKS)
def test_its_preprocessor_keeps_the_contract(made):
    task, x, y, *_ = made
    testing.run_preprocessor(task.preprocessor, x, y)


@each(TASKS)
def test_prepared_rows_have_a_label_each(made, refused):
    task, x, y, *_ = made
    inputs, *parts = next(iter(task.batches(x, y, batching=Batching(2, pad_to="full"))))
    refused("There are no labels", task.fit, inputs)
    for labels in parts[:1]:  # none of pairs
        for rows in ([0], [0, 1, 0]):
            wrong = keras.tree.map_structure(lambda values, rows=rows: values[rows], labels)
            refused(f"2 rows but {len(rows)} labels", task.batches, inputs, wrong)


@without("vectors", "windows")
def test_an_iterable_of_examples_is_read_like_a_list(made, assert_close):
    task, x, y, *_ = made
    rows = rows_of(x)
    pairs = rows if y is None else zip(rows, y, strict=True)
    batches = [[*task.batches(*data, batching=Batching(3))] for data in ((x, y), (iter(pairs),))]
    assert_close(*batches)
    assert_close(task.predict(iter(rows)), task.predict(x))
    assert len(task.answer(iter(rows))) == 4


@each(TASKS)
def test_a_single_example_needs_no_list_and_no_pipeline(made, request, monkeypatch):
    def refused(*_, **__):
        raise AssertionError("Keras builds a pipeline")

    monkeypatch.setattr(keras.Model, "predict", refused)
    task, x, _, _, key = made
    first = take(x, 0)
    if "features" in request.node.name:
        first = {**first, "features": x["features"][:1]}
    first = dict(reversed(first.items())) if isinstance(first, dict) else first
    alone = task.answer([first])[0] if "tags" in request.node.name else task.answer(first)
    assert isinstance(alone, dict) and key in alone
    assert alone.keys() == task.answer(x)[0].keys()


def test_answers_are_plain_python():
    """Bytes that are no UTF-8, which TensorFlow may cut from a text, become replacements."""
    columns = {
        "text": np.array([b"a\xff", "é".encode()]),
        "n": np.array([1, 2]),
        "of": [["b"], []],
    }
    expected = [{"text": "a\ufffd", "n": 1, "of": ["b"]}, {"text": "é", "n": 2, "of": []}]
    assert answer_dicts(columns) == expected


def of_one_class(logits, labels):
    losses = -np.take_along_axis(log_softmax(logits, axis=-1), labels[..., None], axis=-1)
    return losses[..., 0], logits.argmax(axis=-1) == labels


def of_each_label(logits, labels, threshold=0.7):
    labels = labels.reshape(logits.shape)
    return np.logaddexp(0, logits) - labels * logits, (expit(logits) >= threshold) == labels


def of_numbers(logits, labels):
    return (logits[:, 0] - labels) ** 2, None


FORMULAS = dict.fromkeys(["classes", "features", "tags", "questions", "choices"], of_one_class)
FORMULAS |= {"labels": of_each_label, "documents": of_each_label, "score": of_numbers}


@each(FORMULAS)
def test_loss_and_accuracy_are_those_of_the_formula_whatever_the_batches(
    made, request, assert_close
):
    """The padding of questions takes part in their softmax, so theirs are padded alike."""
    task, x, y, *_ = made
    name = request.node.callspec.params["made"]
    last = Batching(3, pad_to="full" if name == "questions" else "longest")
    batchings = Batching(64, pad_to="full"), last
    inputs, labels, weights = (
        *next(iter(task.batches(x, y, batching=batchings[0]))),
        None,
    )[:3]
    logits = task.predict_on_batch(inputs)
    outputs = [(logits, labels)]
    if isinstance(logits, dict):
        outputs = [(logits[name], labels[name]) for name in logits]
    formula = FORMULAS[name]
    losses, right = zip(*(formula(np.float64(a), np.array(b)) for a, b in outputs), strict=True)
    expected = np.mean([np.average(part, weights=weights) for part in losses])
    for batching in batchings:
        found = task.evaluate(x, y, batching=batching, return_dict=True)
        assert found["loss"] == pytest.approx(expected, rel=1e-4)
        if "accuracy" in found:
            accuracy = np.average(right[0], weights=weights)
            assert found["accuracy"] == pytest.approx(accuracy, rel=1e-5)
    if isinstance(task, (keras_bert.BertClassifier, keras_bert.BertReranker)):
        weights = [0.5, 1.0, 2.0, 0.0]
        evaluate = functools.partial(task.evaluate, x, y, sample_weight=weights)
        assert_close(*(np.array(evaluate(batching=batching)) for batching in batchings))


@each(["classes", "questions", "windows"])
def test_fit_validates_on_the_last_examples(made):
    task, x, y, *_ = made
    logs = task.fit(x, y, batch_size=64, validation_split=0.5).history
    x, y = (take(part, slice(2, 4)) for part in (x, y))
    is_pooled = getattr(task.preprocessor, "cuts_windows", False)
    last = (task.batches(x, y),) if is_pooled else (x, y)
    found = task.evaluate(*last, return_dict=True)["loss"]
    assert logs["val_loss"] == [pytest.approx(found, rel=1e-4)]


@each(["classes", "tags", "questions", "choices", "vectors"])
def test_absent_inputs_are_no_padding_and_one_segment(made, inputs, assert_close):
    task, ids = made[0], inputs["token_ids"]
    ids = ids.reshape(2, 4, 12) if len(task.input["token_ids"].shape) == 3 else ids
    absent = {"token_ids": ids}
    expected = task({**absent, "segment_ids": 0 * ids, "padding_mask": ids >= 0})
    for found in (task(absent), task.predict(absent)):
        assert_close(found, expected)


@pytest.mark.parametrize("name", ["classes", "tags", "choices", "documents"])
def test_dropout_acts_before_the_head_in_training_only(
    name, make_case, make_backbone, inputs, difference
):
    model = make_case(name, make_backbone(dropout=0.0), dropout=0.5)
    if name in ("choices", "documents"):
        inputs = {part: values.reshape(2, 4, 12) for part, values in inputs.items()}
    assert difference(model(inputs), model(inputs)) == 0.0
    assert difference(model(inputs), model(inputs, training=True)) > 1e-4


# `training/test_tpu_ready.py` has XLA translate the train steps of the others at each change.
FOR_A_GPU = ("features", "windows", "vectors")


@pytest.mark.slow
@each([n if n in FOR_A_GPU else weekly(n) for n in TASKS])
def test_what_a_gpu_compiles_by_default_compiles(made, tensorflow, difference):
    """`jit_compile="auto"` is True where there is a GPU."""
    task, x, y, _, key = made
    expected = task.predict(x)
    loss = {"loss": "mse"} if key == "embedding" else {}
    task.compile(**{**task.default_compile_args(), **loss}, jit_compile=True)
    largest = max(np.abs(part).max() for part in keras.tree.flatten(expected))
    assert difference(task.predict(x), expected) < 1e-5 * largest
    evaluated = task.evaluate(x, y, return_dict=True)["loss"]
    trained = task.fit(x, y).history["loss"][0]
    assert np.isfinite([evaluated, trained]).all()


@without("vectors")
def test_scores_take_labels(made, refused):
    task, x, y, _, _ = made
    scores = task.scores(x, y)
    assert {type(value) for value in scores.values()} <= {int, float, dict} and scores
    if y is not None:
        refused("scores needs", task.scores, x)
    if task.scorer.reads_examples:
        refused("give those, not inputs", task.scores, {"token_ids": np.ones((2, 3), int)})


@each(["classes"])
def test_a_single_example_has_the_scores_of_a_list_of_it(made):
    task, x, y, *_ = made
    assert str(task.scores(x[0], y[:1])) == str(task.scores(x[:1], y[:1]))


def test_a_pretrainer_reads_as_the_task_it_comes_from(make_backbone, preprocessor):
    encoder = make_backbone()
    model = keras_bert.BertClassifier(encoder, 3, preprocessor)
    pretrainer = keras_bert.BertPretrainer(encoder, preprocessor=model.preprocessor)
    assert type(pretrainer.preprocessor) is type(preprocessor)
    assert pretrainer.preprocessor.get_config() == preprocessor.get_config()
