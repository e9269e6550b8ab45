"""The same on two replicas as on one; in processes of their own, one number of devices to each."""

import json

import numpy as np
import pytest

TRAINED = """
import json, sys
import numpy as np
import tensorflow as tf

replicas, clips = int(sys.argv[1]), map(float, sys.argv[2:])
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, replicas * [tf.config.LogicalDeviceConfiguration()])
import keras
from keras_bert import AdamW, BertBackbone, BertClassifier, get_strategy
from keras_bert.layers.dropout import Dropout

strategy = get_strategy("mirrored") if replicas > 1 else tf.distribute.get_strategy()

def trained(clip):
    with strategy.scope():
        model = keras.Sequential([
            keras.Input((4,), dtype="int32"),
            keras.layers.Embedding(5, 3),
            keras.layers.Flatten(),
            keras.layers.Dense(1),
        ])
        weights = [np.linspace(-1, 1, w.size).reshape(w.shape) for w in model.get_weights()]
        model.set_weights(weights)
        model.compile(optimizer=AdamW(0.1, global_clipnorm=clip), loss="mse")
    x = np.arange(32).reshape(8, 4) % 5
    model.fit(x, np.arange(8.0), batch_size=8, epochs=3, shuffle=False, verbose=0)
    moments = [w.numpy().ravel().tolist() for w in model.optimizer._first_moments]
    return [w.ravel().tolist() for w in model.get_weights()] + moments

def dropped_together():
    with strategy.scope():
        layer = Dropout(0.5, seed=1)
    drop = tf.function(
        lambda: strategy.run(lambda: layer(tf.ones((100, 100)), training=True))
    )
    one, other = (np.asarray(v) == 0 for v in strategy.experimental_local_results(drop()))
    return float((one & other).mean())

def refusal_of_an_optimizer_made_outside():
    optimizer = AdamW(1e-3)
    with strategy.scope():
        model = BertClassifier(BertBackbone(40, 1, 2, 8, 16), num_classes=2)
        model.compile(**{**model.default_compile_args(), "optimizer": optimizer})
    x = {"token_ids": np.ones((4, 6), "int32"), "padding_mask": np.ones((4, 6), "int32")}
    try:
        model.fit(x, np.array([0, 1, 0, 1]), verbose=0)
    except ValueError as error:
        return str(error)

results = {"trained": [trained(clip) for clip in clips]}
if replicas > 1:
    results["dropped_together"] = dropped_together()
    results["refusal"] = refusal_of_an_optimizer_made_outside()
print(json.dumps(results))
"""


@pytest.mark.slow
def test_two_replicas_clip_and_step_as_one_does_and_drop_independently(
    assert_close, tensorflow, run_python
):
    def run(*arguments):
        return json.loads(run_python("-c", TRAINED, *arguments).splitlines()[-1])

    two_replicas, (clipped, free) = run(2, 0.5), run(1, 0.5, 1e6)["trained"]
    assert np.abs(np.subtract(clipped[-1], free[-1])).max() > 0.1  # clipping bites
    assert_close(two_replicas["trained"][0], clipped)
    assert abs(two_replicas["dropped_together"] - 0.25) < 0.025  # equal places would give 0.5
    assert "The optimizer was created outside the scope" in two_replicas["refusal"]


CHECKPOINTS = """
import tempfile
import numpy as np
import tensorflow as tf

[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, 2 * [tf.config.LogicalDeviceConfiguration()])
import keras
from keras_bert import BertBackbone, BertClassifier, TrainingCheckpoint, get_strategy

one, two = get_strategy("single"), get_strategy("mirrored")
assert (one.num_replicas_in_sync, two.num_replicas_in_sync) == (1, 2)
x, y = {"token_ids": np.arange(32).reshape(8, 4)}, np.arange(8) % 2

def restored(strategy, checkpoint, seed, dropout=0.0):
    keras.utils.set_random_seed(seed)
    with strategy.scope():
        model = BertClassifier(BertBackbone(40, 1, 2, 8, 16, dropout), 2, dropout=dropout)
        model.compile(**model.default_compile_args())
        checkpoint.restore(model)
    return model

def trained(*strategies):
    # a step for each, by a process of its own as it were
    checkpoint = TrainingCheckpoint(tempfile.mkdtemp())
    for epoch, strategy in enumerate(strategies):
        model = restored(strategy, checkpoint, seed=1 + epoch)
        model.fit(x, y, batch_size=8, verbose=0, callbacks=[checkpoint])
    assert model.optimizer.iterations == len(strategies)
    return model.get_weights()

for a, b in zip(trained(one, two, one), trained(one, one, one), strict=True):
    np.testing.assert_allclose(a, b, atol=1e-6)

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
def test_a_checkpoint_is_that_of_any_number_of_replicas(tensorflow, run_python):
    assert run_python("-c", CHECKPOINTS).endswith("alike\n")
