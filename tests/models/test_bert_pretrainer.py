"""Masked LM and next sentences."""

import functools
import warnings

import keras
import numpy as np
import pytest
from scipy.special import log_softmax

from keras_bert import BertPretrainer
from keras_bert.losses import LogitCrossentropy


def cross_entropy(logits, labels):
    """Of each label, in float64."""
    logs = log_softmax(np.float64(logits), axis=-1)
    return -np.take_along_axis(logs, labels[..., None], axis=-1)[..., 0]


@pytest.fixture
def model(make_backbone, eager):
    return eager(BertPretrainer(make_backbone()))


def test_the_losses_are_means_over_predicted_tokens_and_pairs(model, randomized, pretraining_batch):
    x, y, weights = pretraining_batch
    outputs = randomized(model).predict(x, verbose=0)
    results = model.evaluate(x, y, sample_weight=weights, batch_size=8, verbose=0, return_dict=True)
    losses = cross_entropy(outputs["masked_lm"], y["masked_lm"])
    used = weights["masked_lm"]
    masked_lm = (losses * used).sum() / used.sum()
    assert abs(masked_lm - losses.mean()) > 1e-3  # the weights count
    next_sentence = cross_entropy(outputs["next_sentence"], y["next_sentence"]).mean()
    right = outputs["masked_lm"].argmax(-1) == y["masked_lm"]
    right_pairs = outputs["next_sentence"].argmax(-1) == y["next_sentence"]
    expected = {
        "loss": masked_lm + next_sentence,
        "masked_lm_loss": masked_lm,
        "next_sentence_loss": next_sentence,
        "masked_lm_accuracy": (right * used).sum() / used.sum(),
        "next_sentence_accuracy": right_pairs.mean(),
    }
    assert set(results) == set(expected)
    weights = {**weights, "masked_lm": 0 * used}
    unused = model.evaluate(x, y, sample_weight=weights, verbose=0, return_dict=True)
    assert unused["masked_lm_loss"] == 0.0 < unused["next_sentence_loss"]
    for name, value in expected.items():
        np.testing.assert_allclose(results[name], value, rtol=2e-5, err_msg=name)


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="others take Keras's own loss")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_loss_on_jax_is_that_of_keras(dtype):
    import jax

    rng = np.random.default_rng(1)
    logits = jax.numpy.asarray(rng.normal(0, 20, (3, 4, 50)), dtype)
    labels, weights = rng.integers(0, 50, (3, 4)), rng.integers(0, 2, (3, 4)).astype("float32")
    (loss, gradient), (expected, of_keras) = (
        jax.value_and_grad(lambda x, each=each: each(labels, x, sample_weight=weights))(logits)
        for each in (
            LogitCrossentropy(),
            keras.losses.SparseCategoricalCrossentropy(
                from_logits=True, reduction="mean_with_sample_weight"
            ),
        )
    )
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    resolution = max(1e-5, float(jax.numpy.finfo(dtype).eps))  # 1e-5: logits up to 100 in float32
    gradient, of_keras = np.float32(gradient), np.float32(of_keras)
    np.testing.assert_allclose(gradient, of_keras, rtol=resolution, atol=1e-9)


def test_slots_count_once_in_batches_of_any_size_and_width(model, pretraining_batch, assert_close):
    """The third slot is never used, so the first batches may be narrower than the last."""
    x, y, weights = pretraining_batch

    def batches(*widths):
        for start, width in widths:
            rows = slice(start, start + 8 // len(widths))
            batch = keras.tree.map_structure(lambda part: part[rows], (x, y, weights))  # noqa: B023
            batch[0]["mask_positions"] = batch[0]["mask_positions"][:, :width]
            for part in batch[1:]:
                part["masked_lm"] = part["masked_lm"][:, :width]
            yield batch

    evaluate = functools.partial(model.evaluate, verbose=0, return_dict=True)
    expected = evaluate(batches((0, 3)))
    assert_close(evaluate(batches((0, 2), (4, 3))), expected)
    assert_close(evaluate(batches((0, 3), (2, 2), (4, 3), (6, 2))), expected)


def test_masked_lm_alone(make_backbone, eager, pretraining_batch):
    x, y, weights = pretraining_batch
    model = eager(BertPretrainer(make_backbone(), next_sentence=False))
    assert set(model.output) == {"masked_lm"}
    pooler = model.backbone.pooler.get_weights()
    y, weights = ({"masked_lm": part["masked_lm"]} for part in (y, weights))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # of the pooler, which has no gradients
        history = model.fit(x, y, sample_weight=weights, batch_size=8, verbose=0).history
    assert all(map(np.array_equal, pooler, model.backbone.pooler.get_weights()))
    assert set(history) == {"loss", "masked_lm_accuracy"}
