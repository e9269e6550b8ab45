"""Predictions on JAX, in a process for each number of devices."""

import json

import pytest

from tests.marks import with_package

pytestmark = [pytest.mark.slow, with_package("jax")]

MAKE = """
import json
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np

from keras_bert import BertBackbone, BertClassifier, BertTokenizer, get_strategy

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghij"]
TEXTS = ["a b", "c", "d e f", "g h", "a", "j i h g f e", "b"]

keras.utils.set_random_seed(1)
with get_strategy().scope():
    reader = BertClassifier.preprocessor_class()(BertTokenizer(WORDS), sequence_length=12)
    task = BertClassifier(BertBackbone(len(WORDS), 1, 2, 16, 32), 2, preprocessor=reader)
inputs = reader(TEXTS)
"""

ASK = """
asked = [
    lambda: [answer["probabilities"] for answer in task.answer(TEXTS)],
    lambda: task.predict(TEXTS, verbose=0).tolist(),
    lambda: task.predict(inputs, batch_size=2, verbose=0).tolist(),
]

def ask(number):
    return asked[number % 3]()

with ThreadPoolExecutor(5) as pool:
    explained = pool.submit(task.explain, "a b c", steps=4)
    found = [*pool.map(ask, range(30))]
    explained = explained.result()["word_weight"].tolist()
expected = [ask(number) for number in range(3)]
differences = [np.ptp([values, expected[i % 3]], axis=0).max() for i, values in enumerate(found)]
again = task.explain("a b c", steps=4)["word_weight"].tolist()
print(json.dumps([max(differences), explained, again]))

class Noisy(BertClassifier):
    def call(self, inputs, training=None):
        return super().call(inputs, training=True)

noisy = Noisy(task.backbone, 2)
first, second = (noisy.predict(inputs, verbose=0) for _ in range(2))

class Sets(keras.callbacks.Callback):
    def on_predict_batch_end(self, batch, logs=None):
        task.set_weights([np.full(w.shape, 2.0) for w in task.get_weights()])

task.predict(inputs, callbacks=[Sets()], verbose=0)
print(json.dumps([bool((first == second).any()), [float(w.max()) for w in task.get_weights()]]))
"""


@pytest.fixture
def said(run_python):
    def run(devices):
        flags = f"--xla_force_host_platform_device_count={devices}"
        settings = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
        settings["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # it compiles more than it computes here
        lines = run_python("-c", MAKE + ASK, **settings).splitlines()
        return [json.loads(line) for line in lines if line.startswith("[")]

    return run


@pytest.mark.parametrize("devices", [1, 2])
def test_threads_that_ask_at_once_get_the_answers_of_one(said, devices):
    """Dropout that is never off draws other masks; weights that were set meanwhile stay."""
    (difference, explained, again), (is_repeated, weights) = said(devices)
    assert difference < 1e-6  # probabilities and logits below 1
    assert explained == pytest.approx(again, rel=1e-3)
    assert not is_repeated and set(weights) == {2.0}
