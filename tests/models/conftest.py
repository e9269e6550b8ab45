"""Fixtures of the models' tests: two layers, sixteen units, thirty words."""

import keras
import numpy as np
import pytest

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [chr(ord("a") + i) for i in range(25)]


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(1)


@pytest.fixture
def make_backbone():
    """Makes a tiny `BertBackbone`, with other arguments where they are given."""
    from keras_bert import BertBackbone

    def make(**arguments):
        tiny = {
            "vocabulary_size": 30,
            "num_layers": 2,
            "num_heads": 2,
            "hidden_dim": 16,
            "intermediate_dim": 32,
            "max_sequence_length": 16,
        }
        return BertBackbone(**{**tiny, **arguments})

    return make


@pytest.fixture
def backbone(make_backbone):
    return make_backbone()


@pytest.fixture
def preprocessor():
    """A preprocessor whose words are single letters, of sequences of twelve."""
    pytest.importorskip("tensorflow_text", reason="raw text needs TensorFlow Text")
    from keras_bert import BertPreprocessor, BertTokenizer

    return BertPreprocessor(BertTokenizer(VOCABULARY), sequence_length=12)


@pytest.fixture
def inputs():
    """Prepared inputs: eight pairs of different lengths."""
    generator = np.random.default_rng(2)
    lengths = np.array([[12], [5], [9], [12], [3], [7], [11], [12]])
    padding_mask = (np.arange(12) < lengths).astype("int32")
    token_ids = generator.integers(5, 30, (8, 12)).astype("int32") * padding_mask
    segment_ids = (np.arange(12) >= lengths // 2).astype("int32") * padding_mask
    return {"token_ids": token_ids, "segment_ids": segment_ids, "padding_mask": padding_mask}


@pytest.fixture
def pretraining_batch(inputs):
    """`(x, y, sample_weight)` as `pretraining_dataset` gives them, of uneven weights."""
    generator = np.random.default_rng(3)
    x = {**inputs, "mask_positions": np.tile(np.array([[1, 2, 0]], "int32"), (8, 1))}
    y = {
        "masked_lm": generator.integers(5, 30, (8, 3)).astype("int32"),
        "next_sentence": generator.integers(0, 2, 8).astype("int32"),
    }
    weights = np.ones((8, 3), "float32")
    weights[:, 2] = 0
    weights[3:6, 1] = 0
    return x, y, {"masked_lm": weights, "next_sentence": np.ones(8, "float32")}


@pytest.fixture
def randomized():
    """Gives a model weights as far from the start as those of a trained one."""

    def randomize(model):
        generator = np.random.default_rng(4)
        for weight in model.trainable_weights:
            weight.assign(generator.normal(0.1, 0.3, weight.shape))
        return model

    return randomize


@pytest.fixture
def difference():
    """The largest difference of two outputs, or dicts of them."""

    def largest(a, b):
        pairs = zip(keras.tree.flatten(a), keras.tree.flatten(b), strict=True)
        return max(
            float(np.abs(keras.ops.convert_to_numpy(x) - keras.ops.convert_to_numpy(y)).max())
            for x, y in pairs
        )

    return largest
