import math

import keras
import numpy as np

from keras_bert.layers.gelu import activation_function, gelu_approximate

X = np.linspace(-6, 6, 241).astype("float32")


def test_gelu_is_the_exact_one(assert_close):
    expected = [x / 2 * (1 + math.erf(x / math.sqrt(2))) for x in map(float, X)]
    assert_close(activation_function("gelu")(X), expected)


def test_gelu_approximate_is_the_tanh_form(assert_close):
    x = np.float64(X)
    expected = x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    assert_close(activation_function("gelu_approximate")(X), expected)


def test_other_names_are_those_of_keras(refused):
    assert activation_function("relu") is keras.activations.relu
    refused("gellu", activation_function, "gellu")


def test_gelu_approximate_is_serializable():
    config = keras.saving.serialize_keras_object(gelu_approximate)
    assert keras.saving.deserialize_keras_object(config) is gelu_approximate
