"""KerasHub's models, their presets and their outputs."""

import functools

import keras
import numpy as np
import pytest

SIZES = {
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 12,
    "max_sequence_length": 16,
}
INPUTS = {
    "token_ids": np.array([[2, 7, 9, 4, 3, 8, 29, 3], [2, 4, 3, 0, 0, 0, 0, 0]], "int32"),
    "segment_ids": np.array([[0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0, 0]], "int32"),
    "padding_mask": np.array([[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0, 0]], "int32"),
}
TABLES = ("token", "segment", "position")
POSITIONS = {"mask_positions": np.array([[3, 6], [1, 0]], "int32")}


@pytest.fixture(scope="session")
def their_backbone():
    """Makes KerasHub's BERT of the encoder's sizes, with random weights."""
    import keras_hub

    def make(**settings):
        return keras_hub.models.BertBackbone(vocabulary_size=30, **{**SIZES, **settings})

    return make


@pytest.fixture(scope="session")
def their_task(their_backbone):
    """Makes one of KerasHub's tasks on such a BERT."""
    import keras_hub

    def make(task, preprocessor=None, **settings):
        more = {"BertTextClassifier": {"num_classes": 3}}.get(task, {})
        cls = getattr(keras_hub.models, task)
        return cls(backbone=their_backbone(), preprocessor=preprocessor, **{**more, **settings})

    return make


@pytest.fixture(scope="session")
def their_preset(their_backbone, their_task, randomized, tmp_path_factory):
    """Makes and saves a model of KerasHub, once for equal arguments: `(model, folder)`.

    Copy the folder to change it.
    """

    @functools.cache
    def make(task=None, **settings):
        build = their_backbone if task is None else functools.partial(their_task, task)
        theirs = randomized(build(**settings))
        folder = tmp_path_factory.mktemp("theirs")
        theirs.save_to_preset(str(folder))
        return theirs, folder

    return make


def inputs_of(model):
    return {name: value for name, value in {**INPUTS, **POSITIONS}.items() if name in model.input}


@pytest.fixture
def outputs_of():
    """Computes a model's outputs in either library, as `{name: array}`."""

    def compute(model):
        inputs = inputs_of(model)
        outputs = model(inputs)
        if not isinstance(outputs, dict):
            outputs = {"masked_lm" if "mask_positions" in inputs else "outputs": outputs}
        return {name: keras.ops.convert_to_numpy(value) for name, value in outputs.items()}

    return compute


@pytest.fixture
def assert_same_outputs(outputs_of, assert_close):
    def check(ours, theirs, **bound):
        ours, theirs = outputs_of(ours), outputs_of(theirs)
        assert theirs.keys() <= ours.keys()
        for name, expected in theirs.items():
            assert np.ptp(expected) > 0.1, "outputs differ between inputs"
            assert_close(ours[name], expected, name=name, **bound)

    return check


@pytest.fixture
def gradients_of(tensorflow):
    """Computes the gradients of a weighted sum of a model's outputs, as `{path: array}`."""

    def compute(model):
        with tensorflow.GradientTape() as tape:
            outputs = model(inputs_of(model))
            outputs = outputs if isinstance(outputs, dict) else {"outputs": outputs}
            generator = np.random.default_rng(7)
            loss = sum(
                tensorflow.reduce_sum(outputs[name] * generator.normal(size=outputs[name].shape))
                for name in sorted(outputs)
            )
        weights = model.trainable_weights
        gradients = tape.gradient(loss, [weight.value for weight in weights])
        return {
            weight.path: tensorflow.convert_to_tensor(gradient).numpy()
            for weight, gradient in zip(weights, gradients, strict=True)
            if gradient is not None  # the pooler's, if the head doesn't use it
        }

    return compute


# Their layer, ours, and the variables of both.
LAYERS = [
    *((f"{name}_embedding", f"embeddings/{name}_embedding", "embeddings") for name in TABLES),
    ("embeddings_layer_norm", "embeddings/norm", "gamma beta"),
    ("pooled_dense", "pooler", "kernel bias"),
    ("mlm_head/intermediate_dense", "masked_lm/dense", "kernel bias"),
    ("mlm_head/intermediate_layer_norm", "masked_lm/norm", "gamma beta"),
    ("logits", "logits", "kernel bias"),
]
BLOCK = [
    ("self_attention_layer/attention_output", "attention/output_dense", "kernel bias"),
    ("self_attention_layer_norm", "attention_norm", "gamma beta"),
    ("feedforward_layer_norm", "output_norm", "gamma beta"),
    ("feedforward_intermediate_dense", "intermediate_dense", "kernel bias"),
    ("feedforward_output_dense", "output_dense", "kernel bias"),
]


@pytest.fixture
def in_our_names():
    """Converts arrays under KerasHub's paths to `{our path: our array}`."""

    def translate(theirs):
        layers, ours = [*LAYERS], {}
        for i in range(2):
            their_block, block = f"transformer_layer_{i}", f"block_{i}"
            layers += [(f"{their_block}/{a}", f"{block}/{b}", names) for a, b, names in BLOCK]
            for variable in ("kernel", "bias"):
                path = f"{their_block}/self_attention_layer/{{}}/{variable}"
                parts = [theirs[path.format(part)] for part in ("query", "key", "value")]
                whole = np.hstack([part.reshape(part.size // 8, 8) for part in parts])
                ours[f"{block}/attention/query_key_value/{variable}"] = np.squeeze(whole)
        for their_layer, our_layer, variables in layers:
            for variable in variables.split():
                if (array := theirs.get(f"{their_layer}/{variable}")) is not None:
                    array = array.reshape(8, 8) if array.ndim == 3 else array  # of heads
                    ours[f"{our_layer}/{variable}"] = array
        if "mlm_head/output_bias" in theirs:
            ours["masked_lm/bias"] = theirs["mlm_head/output_bias"]
        return ours

    return translate
