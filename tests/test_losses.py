"""Losses by their formulas, in float64, and what doesn't fit them."""

import itertools

import keras
import numpy as np
import pytest

from keras_bert import losses

DRAW = np.random.default_rng(1)


def test_cosent_ranks_every_two_pairs():
    vectors, scores = DRAW.normal(size=(5, 2, 8)), [1.0, 3, 3, 0, 2]
    units = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    cosines = 20 * (units[:, 0] * units[:, 1]).sum(axis=-1)
    pairs = itertools.permutations(zip(cosines, scores, strict=True), 2)
    expected = np.log1p(sum(np.exp(b - a) for (a, more), (b, less) in pairs if more > less))
    for loss in (losses.CoSENT(), losses.EmbeddingLoss()):
        assert float(loss(np.array(scores), vectors)) == pytest.approx(expected, rel=1e-5)


def test_copies_compute_the_same():
    options = {"reduction": "sum", "dtype": "float32"}
    soft = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    for loss, labels in (
        (losses.InBatchNegatives(3.0, (1, 2), **options), np.arange(8).reshape(4, 2)),
        (losses.MarginMeanSquaredError(**options), np.ones((4, 1))),
        (losses.LogitCrossentropy(0.3, **options), np.ones(4)),
        (losses.WeightedBinaryCrossentropy([0.0, 2], **options), np.ones((4, 2))),
        (losses.Distillation(soft, 3.0, 0.2), np.ones((4, 3))),
    ):
        shape = (4, 2, 3) if hasattr(loss, "over_batch") else (4, 2)
        copied = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
        assert copied.get_config() == loss.get_config() and copied.reduction == loss.reduction
        outputs = DRAW.normal(size=shape)
        np.testing.assert_array_equal(copied(labels, outputs), loss(labels, outputs))


def test_a_distilled_loss_is_reduced_as_the_task_s_own():
    assert losses.Distillation(losses.LogitCrossentropy(reduction="sum")).reduction == "sum"
    assert losses.Distillation("mean_squared_error").reduction == "sum_over_batch_size"


def test_what_does_not_fit_a_loss_is_refused(refused):
    ones = np.ones((2, 2))
    for message, call, *arguments in (
        ("scale must be.*above 0; got 0", losses.InBatchNegatives, 0),
        (r"\[B, k, H\].*got \(2, 1, 2\)", losses.InBatchNegatives(), ones, ones[:, None]),
        (r"\(2, 2\) and \(2, 2\)", losses.MarginMeanSquaredError(), ones, ones),
        (r"\(2,\) and \(2, 3\)", losses.MarginMeanSquaredError(), ones[0], np.ones((2, 3))),
        ("label_smoothing", losses.LogitCrossentropy, 1.5),
        ("pos_weight must be a list", losses.WeightedBinaryCrossentropy, []),
        ("Each pos_weight", losses.WeightedBinaryCrossentropy, [-1]),
        *(("from 1 to 4", losses.check_dims, dims, 4) for dims in ((), (0,), (5,), (1.0,), 4)),
    ):
        refused(message, call, *arguments)
    losses.check_dims((1, 4), 4)
