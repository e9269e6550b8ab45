"""The same on two replicas as on one, in a process of two devices."""

import pytest

BEGIN = """
import tempfile
import numpy as np
import tensorflow as tf

[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, 2 * [tf.config.LogicalDeviceConfiguration()])
import keras
from keras_bert import AdamW, BertBackbone, BertClassifier, BertTokenizer
from keras_bert import TrainingCheckpoint, get_strategy
from keras_bert.layers.dropout import Dropout

one, two = get_strategy("single"), get_strategy("mirrored")
assert (one.num_replicas_in_sync, two.num_replicas_in_sync) == (1, 2)

def close(first, second):
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * np.abs(b).max())
"""

DROPOUT_AND_CHECKPOINTS = """
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

whole = restored(one, TrainingCheckpoint(tempfile.mkdtemp()), seed=1)
whole.fit(x, y, batch_size=8, epochs=3, verbose=0)
checkpoint = TrainingCheckpoint(tempfile.mkdtemp())
for epoch, strategy in enumerate((one, two, one)):  # a step in each of three processes as it were
    model = restored(strategy, checkpoint, seed=1 + epoch)
    model.fit(x, y, batch_size=8, verbose=0, callbacks=[checkpoint])
assert model.optimizer.iterations == 3
close(model.get_weights(), whole.get_weights())

checkpoint = TrainingCheckpoint(tempfile.mkdtemp())
of_two = restored(two, checkpoint, seed=1, dropout=0.1)
checkpoint.save(of_two)
of_one = restored(one, checkpoint, seed=2, dropout=0.1)
seeds = [[np.asarray(s) for s in m.non_trainable_variables] for m in (of_one, of_two)]
assert len(seeds[0]) >= 5
np.testing.assert_array_equal(*seeds)

def dropped():
    model = restored(two, TrainingCheckpoint(tempfile.mkdtemp()), seed=1, dropout=0.1)
    model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    return model.get_weights()

assert all(map(np.array_equal, dropped(), dropped()))
print("alike")
"""


@pytest.mark.slow
def test_two_replicas_drop_by_themselves_and_resume_as_one_does(tensorflow, run_python):
    assert run_python("-c", BEGIN + DROPOUT_AND_CHECKPOINTS).endswith("alike\n")


AFTER_THE_SCOPE = """
def make_model():
    with two.scope():
        tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"])
        reader = BertClassifier.preprocessor_class()(tokenizer, sequence_length=8)
        return BertClassifier(BertBackbone(11, 1, 2, 8, 16), 2, preprocessor=reader)

def num_replicas(model):
    return {len(two.experimental_local_results(variable.value)) for variable in model.variables}

texts, labels = ["a b", "c", "d", "e"], [0, 1, 0, 1]
model = make_model()
folder = tempfile.mkdtemp()
model.save_to_hugging_face(folder + "/base")
model.enable_lora(2)
model.fit(texts, labels, verbose=0)
model.save_lora(folder + "/lora", folder + "/base")
with two.scope():
    other = BertClassifier.from_preset(folder + "/lora")
close([other.predict(texts, verbose=0)], [model.predict(texts, verbose=0)])
other.enable_lora(2)
other.fit(texts, labels, verbose=0)
other.merge_lora()
assert num_replicas(model) == num_replicas(other) == {2}
print("alike")
"""


@pytest.mark.slow
def test_a_model_of_two_replicas_is_adapted_outside_of_the_scope(tensorflow, run_python):
    assert run_python("-c", BEGIN + AFTER_THE_SCOPE).endswith("alike\n")


UNKNOWN_LENGTH = """
class WithTwice(BertClassifier):
    def train_step(self, data):
        logs = super().train_step(data)
        return {**logs, "twice": 2 * logs["loss"]}

x, y = {"token_ids": np.arange(32).reshape(8, 4) % 9}, np.arange(8) % 2
known = tf.data.Dataset.from_tensor_slices((x, y)).batch(2, drop_remainder=True)
results = []
for strategy, steps, data in [
    (one, 1, known), *((s, n, known.filter(lambda x, y: True)) for s in (one, two) for n in (1, 3)),
]:
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = WithTwice(BertBackbone(11, 1, 2, 8, 16, 0.0), 2, dropout=0.0)
        loss = model.default_compile_args()["loss"]
        model.compile(AdamW(1e-2), loss, steps_per_execution=steps)
        history = model.fit(data, epochs=2, validation_data=data, verbose=0).history
    assert float(keras.ops.convert_to_numpy(model.optimizer.iterations)) == 8
    results.append([*history.values(), *model.get_weights()])
# AdamW divides a gradient by its size, also one that is 0 but for rounding: no bound of its own.
largest = max(np.abs(values).max() for values in results[0])
for result in results[1:]:
    for values, expected in zip(result, results[0], strict=True):
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-5 * largest)
print("alike")
"""


@pytest.mark.slow
def test_replicas_take_no_step_after_the_end_of_a_dataset_of_unknown_length(tensorflow, run_python):
    assert run_python("-c", BEGIN + UNKNOWN_LENGTH).endswith("alike\n")


OWN_ARRAYS = """
def aligned(values):  # TensorFlow takes such an array without a copy
    memory = np.zeros(values.nbytes + 64, "uint8")
    start = -memory.ctypes.data % 64
    array = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    array[:] = values
    return array

draw = np.random.default_rng(1)
x = {"token_ids": draw.integers(1, 40, (4, 16)), "features": draw.normal(size=(4, 2))}
x = {name: aligned(values.astype("float32")) for name, values in x.items()}
y, weights = aligned(draw.integers(0, 2, 4).astype("float32")), aligned(np.ones(4, "float32"))
before = [values.copy() for values in (*x.values(), y, weights)]

class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return x, y, weights

for strategy in (one, two):
    with strategy.scope():
        model = BertClassifier(BertBackbone(40, 1, 2, 8, 16), 2, num_features=2)
        model.compile(**model.default_compile_args())
    model.adapt_features(x["features"])
    for number in (1, 2):
        model.fit(Batches(), epochs=10, verbose=0, accumulation_steps=number)
    model.evaluate(Batches(), verbose=0)
    model.predict(Batches(), verbose=0)
    for array, old in zip((*x.values(), y, weights), before, strict=True):
        np.testing.assert_array_equal(array, old)
print("alike")
"""


@pytest.mark.weekly
def test_arrays_of_a_pydataset_stay_what_they_are(tensorflow, run_python):
    assert run_python("-c", BEGIN + OWN_ARRAYS).endswith("alike\n")
