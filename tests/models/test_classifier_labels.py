"""Labels of classifiers: by name, by number, weighed, and those that are refused."""

import functools
import re

import keras
import numpy as np
import pytest

from keras_bert import Batching, BertClassifier, BertClassifierPreprocessor
from keras_bert.metrics import regression_scores
from keras_bert.preprocessing.forms import take

TEXTS = ["a b c", "d", "e f g h", "a a a a a a a a a a a a a a", "", "zz b", "x y", "c b a"]
PAIRS = ["b", "c d e", "f", "a a a", "g", "h", "i j k l m n o p", "q"]
LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 1])
NAMES = ["low", "mid", "high"]


@pytest.fixture
def backbone(make_backbone):
    return make_backbone(dropout=0.0)


@pytest.fixture(scope="module")
def named(letters):
    return BertClassifierPreprocessor(letters, sequence_length=12, label_names=NAMES)


@pytest.fixture
def model(backbone, named, eager):
    return eager(BertClassifier(backbone, 3, named, dropout=0.0))


@pytest.fixture
def bare(backbone, eager):
    return eager(BertClassifier(backbone, 3, dropout=0.0))


def test_one_class_is_regression(backbone, preprocessor, eager, assert_close):
    model = eager(BertClassifier(backbone, num_classes=1, preprocessor=preprocessor))
    scores = np.linspace(-2, 5, 8)
    predicted = model.predict((TEXTS, PAIRS), verbose=0)
    assert predicted.shape == (8, 1) and predicted.dtype == np.float32
    loss = model.evaluate((TEXTS, PAIRS), scores, batch_size=8, verbose=0)
    np.testing.assert_allclose(loss, np.mean((predicted[:, 0] - scores) ** 2), rtol=1e-4)
    found = model.answer((TEXTS, PAIRS))
    assert_close([answer["score"] for answer in found], predicted[:, 0])
    assert all(set(answer) == {"score"} for answer in found)
    assert_close(model.scores((TEXTS, PAIRS), scores), regression_scores(scores, predicted[:, 0]))


def test_one_hot_labels_are_refused_unless_the_loss_takes_them(model, inputs, refused):
    one_hot = np.eye(3)[LABELS]
    for call, x, y in (
        (model.fit, TEXTS, one_hot),
        (model.evaluate, TEXTS, one_hot),
        (model.fit, inputs, one_hot.astype(int).tolist()),
        (BertClassifier(model.backbone, 3).fit, inputs, one_hot),  # with no compile
    ):
        refused(r"one-hot, \[n, 3\].*argmax\(axis=1\).*multi_label", call, x, y)
    expected = model.evaluate(inputs, LABELS, verbose=0)[0]
    loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, run_eagerly=True)
    assert model.evaluate(inputs, one_hot, verbose=0) == pytest.approx(expected, rel=1e-5)
    for labels in (LABELS, np.array(NAMES)[LABELS]):
        refused("CategoricalCrossentropy takes one-hot labels", model.fit, inputs, labels)


@pytest.mark.parametrize("metrics", [[], [keras.metrics.F1Score("macro")]])
def test_an_error_about_one_hot_labels_names_a_loss_that_takes_them(model, refused, metrics):
    """Whoever follows it trains; it doesn't lead to the next error."""
    model.compile("sgd", weighted_metrics=metrics)
    labels = LABELS if metrics else np.eye(3)[LABELS]
    with pytest.raises(ValueError, match="one-hot") as error:
        model.fit(TEXTS, labels)
    advice = re.search(r"loss=(keras\.losses\.\w+\(from_logits=True\))", str(error.value))
    model.compile("sgd", eval(advice[1]), weighted_metrics=metrics, run_eagerly=True)
    model.fit(TEXTS, np.eye(3)[LABELS], verbose=0)


def test_class_weights_weigh_the_loss_of_each_class(bare, eager, inputs, randomized):
    logits = randomized(bare).predict(inputs, verbose=0)
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(8), LABELS]
    eager(bare, optimizer=keras.optimizers.SGD(0.0))
    for weights, expected in (
        ({0: 2.0, "2": 0.5}, np.array([2.0, 1.0, 0.5])),
        ("balanced", 8 / (3 * np.array([3, 3, 2]))),
    ):
        history = bare.fit(inputs, LABELS, class_weight=weights, batch_size=8, verbose=0).history
        np.testing.assert_allclose(history["loss"], [(losses * expected[LABELS]).mean()], rtol=1e-5)
    sample_weight = np.arange(8.0)
    for given in (sample_weight, sample_weight[:, None]):
        both = bare.class_sample_weight(LABELS, {0: 2.0}, given)
        assert both.tolist() == [0, 1, 2, 6, 4, 5, 12, 7]


def test_class_weights_of_text_and_of_datasets(model, eager, tf):
    weights = {"low": 3, "high": 0.25}  # keras's own class_weight fails on classes left out
    names = np.array(NAMES)[LABELS]
    data = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS))
    eager(model, optimizer=keras.optimizers.SGD(0.0))
    expected = model.fit(TEXTS, names, class_weight=weights, verbose=0).history["loss"]
    plain = model.fit(TEXTS, names, verbose=0).history["loss"]
    assert abs(expected[0] - plain[0]) > 1e-2
    found = model.fit(data, class_weight=weights, verbose=0).history["loss"]
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("form", "class_weight"), [("texts", {"low": 10.0}), ("prepared", "balanced")]
)
def test_class_weights_are_of_the_training_part_alone(model, eager, inputs, form, class_weight):
    eager(model, optimizer=keras.optimizers.SGD(0.0))
    x, names = TEXTS if form == "texts" else inputs, np.array(NAMES)[LABELS]
    fit = functools.partial(model.fit, class_weight=class_weight, verbose=0)
    last = take(x, slice(5, 8)), names[5:]
    expected = fit(take(x, slice(5)), names[:5], validation_data=last).history
    found = fit(x, names, validation_split=0.375).history
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, rel=1e-5)


def test_class_weights_multiply_weights_in_batches(model, eager, tf):
    eager(model, optimizer=keras.optimizers.SGD(0.0))
    weights, own = {"low": 3.0, "high": 0.25}, np.arange(8.0)
    names, whole = np.array(NAMES)[LABELS], Batching(8, shuffle=False)

    def loss(*data, **options):
        return model.fit(*data, class_weight=weights, verbose=0, **options).history["loss"][0]

    slices = tf.data.Dataset.from_tensor_slices
    expected = loss(TEXTS, names, sample_weight=own)
    batches = model.batches(TEXTS, names, own, batching=whole)
    assert loss(batches) == pytest.approx(expected, rel=1e-5)
    assert loss(slices((TEXTS, names, own))) == pytest.approx(expected, rel=1e-5)
    one_hot = slices((dict(model.preprocessor(TEXTS)), np.eye(3)[LABELS], own)).batch(8)
    eager(model, optimizer="sgd", loss=keras.losses.CategoricalCrossentropy(from_logits=True))
    assert loss(one_hot) == pytest.approx(expected, rel=1e-5)


def test_class_weights_need_one_class_a_text(backbone, inputs, preprocessor, refused):
    several = BertClassifierPreprocessor.like(preprocessor, multi_label=True)
    for classes, reader in ((1, None), (3, several)):
        fit, labels = BertClassifier(backbone, classes, reader).fit, np.zeros((8, 3))
        refused("one class.*sample_weight", fit, inputs, labels, class_weight={0: 2.0})


def test_a_metric_that_needs_the_number_of_classes_takes_raw_texts(backbone, preprocessor, eager):
    num_classes = 8  # as many as the tokens of short texts
    # The shape of one-hot labels stays known: it doesn't change with the texts' lengths.
    model = eager(BertClassifier(backbone, num_classes, preprocessor, dropout=0.0))
    loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=[keras.metrics.F1Score(average="macro")])
    one_hot = np.eye(num_classes)[LABELS]
    expected = keras.metrics.F1Score(average="macro")
    expected.update_state(one_hot, model.predict(TEXTS, verbose=0))
    measured = model.evaluate(TEXTS, one_hot, batch_size=4, verbose=0, return_dict=True)
    np.testing.assert_allclose(measured["f1_score"], float(expected.result()), rtol=1e-6)
