"""A tiny preset, and training by hand, for programs as users of Keras write them."""

import functools
from collections import UserList

import keras
import numpy as np
import pytest

import keras_bert
from tests.conftest import VOCABULARY

LETTERS = VOCABULARY[5:]
TEXTS = ["a b", "c", "d e f", "g h", "a a b", "k", "m n o p", "c d"]
LABELS = [0, 1, 1, 0, 1, 1, 0, 1]
ROWS = range(8)

EAGERLY = keras.backend.backend() == "tensorflow"  # tracing takes longer than a few steps
PLAIN = {"batch_size": 4, "shuffle": False, "verbose": 0}
WEIGHTS = [0.0, 1, 2, 0, 1, 3, 1, 0.5]
NAMES = ["no", "yes"]
NAMED = [NAMES[label] for label in LABELS]
ENTROPY = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class Rows(UserList):
    """Rows by number, with a column by name, as in a data set of Hugging Face."""

    def __getitem__(self, key):
        return UserList(row[key] for row in self) if isinstance(key, str) else self.data[key]


def backend_is(name):
    return keras.backend.backend() == name


@pytest.fixture(scope="session")
def preset(make_classifier, varied, tmp_path_factory):
    """The folder of a classifier of "no" and "yes" without dropout."""
    model = varied(make_classifier(dropout=0.0, sequence_length=8, label_names=NAMES))
    generator = np.random.default_rng(6)
    model.head.kernel.assign(generator.normal(0, 0.7, model.head.kernel.shape))
    folder = tmp_path_factory.mktemp("preset")
    model.save_to_preset(folder)
    return folder


@pytest.fixture
def model(preset):
    return keras_bert.BertClassifier.from_preset(preset)


@pytest.fixture(scope="session")
def compiled(preset):
    """A classifier that answers, predicts and evaluates in many tests, and never trains."""
    model = keras_bert.BertClassifier.from_preset(preset)
    model.compile(keras.optimizers.SGD(0.1))
    return model


@pytest.fixture(scope="session")
def reusable_model(preset):
    model = keras_bert.BertClassifier.from_preset(preset)
    model.compile(keras.optimizers.SGD(0.1))
    return model, model.get_weights()


@pytest.fixture
def sgd_model(reusable_model):
    """The preset's classifier, compiled with `SGD(0.1)`; tests share what was traced for it."""
    model, weights = reusable_model
    model.set_weights(weights)
    model.optimizer.iterations.assign(0)
    model.optimizer.learning_rate = 0.1
    model.stop_training = False
    return model


def loss_and_gradients(model, x, loss_of):
    """Computes a loss of a model's outputs and its gradients, without Keras's trainer."""
    variables = model.trainable_variables
    if backend_is("tensorflow"):
        import tensorflow as tf

        with tf.GradientTape() as tape:
            loss = loss_of(model(x, training=True))
        gradients = tape.gradient(loss, [variable.value for variable in variables])
        return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]
    if backend_is("torch"):
        model.zero_grad()
        loss = loss_of(model(x, training=True))
        loss.backward()
        return loss, [variable.value.grad for variable in variables]
    import jax

    others = [variable.value for variable in model.non_trainable_variables]

    def loss_at(values):
        outputs, _ = model.stateless_call(values, others, x, training=True)
        return loss_of(outputs)

    return jax.value_and_grad(loss_at)([variable.value for variable in variables])


@pytest.fixture(scope="session")
def plain(preset):
    """A function that trains the preset's classifier by gradient descent, written out here.

    Batches are of 4, in order. Returns the mean loss of each epoch, and the classifier.
    """

    @functools.cache
    def train(epochs=1, loss=ENTROPY):
        model = keras_bert.BertClassifier.from_preset(preset)
        losses = []
        for batch in [slice(4), slice(4, 8)] * epochs:
            x = model.preprocessor(TEXTS[batch])
            y = keras.ops.convert_to_tensor(LABELS[batch])

            def loss_of(outputs, y=y):
                return keras.ops.mean(loss(y, outputs))

            value, gradients = loss_and_gradients(model, x, loss_of)
            for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
                gradient = keras.ops.convert_to_numpy(gradient)
                variable.assign(keras.ops.convert_to_numpy(variable) - 0.1 * gradient)
            losses.append(float(keras.ops.convert_to_numpy(value)))
        return np.mean(np.reshape(losses, (epochs, 2)), axis=1), model

    return train


@pytest.fixture(scope="session")
def same_weights(assert_close):
    """A function that asserts that two models have the same weights, but for roundings."""

    def check(model, other):
        values = [keras.ops.convert_to_numpy(weight) for weight in model.trainable_weights]
        expected = [keras.ops.convert_to_numpy(weight) for weight in other.trainable_weights]
        for actual, wanted, weight in zip(values, expected, model.trainable_weights, strict=True):
            assert_close(actual, wanted, sums=64, size=1.0, name=weight.path)

    return check


@pytest.fixture(scope="session")
def trained_as(assert_close, same_weights):
    """A function that asserts that a run has the losses and the weights of one by hand."""

    def check(model, history, expected):
        losses, other = expected
        assert_close(np.array(history.history["loss"]), np.array(losses), sums=64)
        same_weights(model, other)

    return check


@pytest.fixture
def dataset(tf):
    return tf.data.Dataset.from_tensor_slices((TEXTS, LABELS))


@pytest.fixture(scope="session")
def reads_as_lists(compiled, assert_close):
    """A function that asserts that data in some form are the batches of texts and labels in lists.

    Other rows or weights may be given, too.
    """
    batching = keras_bert.Batching(4, shuffle=False, pad_to="full")

    def batches(*data):
        made = compiled.batches(*data, batching=batching)
        return [keras.tree.map_structure(np.array, batch) for batch in made]

    def check(*data, rows=ROWS, weights=None, name=""):
        texts, labels = ([column[row] for row in rows] for column in (TEXTS, LABELS))
        assert_close(batches(*data), batches(texts, labels, weights), sums=0, name=name)

    return check
