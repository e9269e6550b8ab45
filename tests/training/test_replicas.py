"""The same on two replicas as on one, in a process of two devices."""

import pytest

SCRIPT = """
import tempfile
import numpy as np
import tensorflow as tf

[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, 2 * [tf.config.LogicalDeviceConfiguration()])
import keras
from keras_bert import AdamW, BertBackbone, BertClassifier, TrainingCheckpoint, get_strategy
from keras_bert.layers.dropout import Dropout

one, two = get_strategy("single"), get_strategy("mirrored")
assert (one.num_replicas_in_sync, two.num_replicas_in_sync) == (1, 2)

def close(first, second):
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * np.abs(b).max())

with two.scope():
    layer = Dropout(0.5, seed=1)
drop = tf.function(lambda: two.run(lambda: layer(tf.ones((100, 100)), training=True)))
first, second = (np.asarray(v) == 0 for v in two.experimental_local_results(drop()))
assert abs((first & second).mean() - 0.25) < 0.025  # equal places would give 0.5

x, y = {"token_ids": np.arange(32).reshape(8, 4)}, np.arange(8) % 2

def make_model(dropout=0.0, **arguments):
    model = BertClassifier(BertBackbone(40, 1, 2, 8, 16, dropout), 2, dropout=dropout)
    model.compile(**{**model.default_compile_args(), **arguments})
    return model

outside = AdamW(1e-3)
with two.scope():
    model = make_model(optimizer=outside)
try:
    model.fit(x, y, verbose=0)
except ValueError as error:
    assert "The optimizer was created outside the scope" in str(error)
else:
    raise AssertionError("no error")

def restored(strategy, checkpoint, seed, dropout=0.0):
    keras.utils.set_random_seed(seed)
    with strategy.scope():
        model = make_model(dropout)
        checkpoint.restore(model)
    return model

def in_turns(*strategies):
    # a step for each, by a process of its own as it were
    checkpoint = TrainingCheckpoint(tempfile.mkdtemp())
    for epoch, strategy in enumerate(strategies):
        model = restored(strategy, checkpoint, seed=1 + epoch)
        model.fit(x, y, batch_size=8, verbose=0, callbacks=[checkpoint])
    assert model.optimizer.iterations == len(strategies)
    return model.get_weights()

close(in_turns(one, two, one), in_turns(one, one, one))

checkpoint = TrainingCheckpoint(tempfile.mkdtemp())
of_two = restored(two, checkpoint, seed=1, dropout=0.1)
checkpoint.save(of_two)
of_one = restored(one, checkpoint, seed=2, dropout=0.1)
seeds = [[np.asarray(s) for s in m.non_trainable_variables] for m in (of_one, of_two)]
assert len(seeds[0]) >= 5
np.testing.assert_array_equal(*seeds)
print("alike")
"""


@pytest.mark.slow
def test_two_replicas_drop_by_themselves_and_resume_as_one_does(tensorflow, run_python):
    assert run_python("-c", SCRIPT).endswith("alike\n")
