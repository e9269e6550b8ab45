"""Masked LM and next sentences, and words for [MASK]."""

import functools
import warnings

import keras
import numpy as np
import pytest
from scipy.special import softmax

from keras_bert import BertPreprocessor, BertPretrainer
from keras_bert.losses import LogitCrossentropy
from keras_bert.models.bert_pretrainer import masked_inputs
from tests.marks import on
from tests.models.test_every_task import of_one_class


@pytest.fixture
def model(make_backbone, eager):
    weights = {"masked_lm": 1.0, "next_sentence": 0.5}
    return eager(BertPretrainer(make_backbone()), loss_weights=weights)


def test_losses_are_means_over_tokens_and_pairs_in_batches_of_any_size_and_width(
    model, randomized, pretraining_batch
):
    """The third slot is never used, so the first batches may be narrower than the last."""
    x, y, weights = pretraining_batch
    outputs, used = randomized(model).predict(x), weights["masked_lm"]
    losses, right = of_one_class(outputs["masked_lm"], y["masked_lm"])
    masked_lm = np.average(losses, weights=used)
    assert abs(masked_lm - losses.mean()) > 1e-3  # the weights count
    losses, right_pairs = of_one_class(outputs["next_sentence"], y["next_sentence"])
    next_sentence = losses.mean()
    expected = {
        "loss": masked_lm + 0.5 * next_sentence,
        "masked_lm_loss": masked_lm,
        "next_sentence_loss": next_sentence,
        "masked_lm_accuracy": np.average(right, weights=used),
        "next_sentence_accuracy": right_pairs.mean(),
    }

    def batches(*widths):
        size = 8 // len(widths)
        for number, width in enumerate(widths):
            rows = slice(number * size, (number + 1) * size)
            batch = keras.tree.map_structure(lambda part: part[rows], pretraining_batch)  # noqa: B023
            for part, name in zip(batch, ("mask_positions", *["masked_lm"] * 2), strict=True):
                part[name] = part[name][:, :width]
            yield batch

    for widths in ((3,), (2, 3), (3, 2, 3, 2)):
        found = model.evaluate(batches(*widths), return_dict=True)
        assert found == pytest.approx(expected, rel=2e-5)
    unused = {**weights, "masked_lm": 0 * used}
    found = model.evaluate(x, y, sample_weight=unused, return_dict=True)
    assert found["masked_lm_loss"] == 0.0 < found["next_sentence_loss"]


@on("jax")  # others take Keras's own loss
def test_the_loss_on_jax_is_that_of_keras():
    import jax

    rng = np.random.default_rng(1)
    labels, weights = rng.integers(0, 50, (3, 4)), np.float32(rng.integers(0, 2, (3, 4)))
    of_keras = keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction="mean_with_sample_weight"
    )

    for dtype in ("float32", "bfloat16"):
        logits = jax.numpy.asarray(rng.normal(0, 20, (3, 4, 50)), dtype)
        (value, gradient), (expected, of_theirs) = (
            jax.value_and_grad(loss, argnums=1)(labels, logits, weights)
            for loss in (LogitCrossentropy(), of_keras)
        )
        np.testing.assert_allclose(value, expected, rtol=1e-6)
        # Logits are up to 100, in float32.
        resolution = max(1e-5, float(jax.numpy.finfo(dtype).eps))
        gradients = np.float32(gradient), np.float32(of_theirs)
        np.testing.assert_allclose(*gradients, rtol=resolution, atol=1e-9)


def test_masked_lm_alone(make_backbone, eager, pretraining_batch):
    x, y, weights = pretraining_batch
    model = eager(BertPretrainer(make_backbone(), next_sentence=False))
    assert set(model.output) == {"masked_lm"}
    y, weights = ({"masked_lm": part["masked_lm"]} for part in (y, weights))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # of the pooler, which has no gradients
        history = model.fit(x, y, sample_weight=weights, batch_size=8).history
    assert set(history) == {"loss", "masked_lm_accuracy"}


def test_masks_are_filled_with_the_tokens_of_the_largest_logits(
    make_backbone, letters, varied, eager, assert_close, refused
):
    reader = BertPreprocessor(letters, sequence_length=12)
    tokens = letters.get_vocabulary()
    spare = make_backbone(vocabulary_size=len(tokens) + 2)  # rows that are no words
    model = eager(varied(BertPretrainer(spare, False, reader)))
    texts = ["a [MASK] c", "[MASK] b [MASK] d e", "[MASK]"]
    answers = model.fill_mask(texts, top_k=99, batch_size=2)  # all words, and no spare rows
    assert [len(answer) for answer in answers] == [1, 2, 1]
    for text, answer in zip(texts, answers, strict=True):
        inputs, _ = masked_inputs([text], reader)
        [logits] = model.predict_on_batch(inputs)["masked_lm"][..., : len(tokens)]
        for words, likely in zip(answer, softmax(logits, axis=-1), strict=False):
            best = np.argsort(-likely)
            assert [word["token"] for word in words] == [tokens[i] for i in best]
            assert_close([word["score"] for word in words], likely[best])
    assert model.fill_mask(texts[2], top_k=3) == [answers[2][0][:3]]
    among = [word for word in answers[2][0] if word["token"] in ("a", "b", "c")]
    assert model.fill_mask(texts[2], top_k=1, targets=["c", "b", "a"]) == [among]
    for wrong in (["a", "a b"], "é☃", [""]):
        refused("one token of the vocabulary; got", model.fill_mask, texts, targets=wrong)
    refused("at least one token", model.fill_mask, texts, targets=[])


@pytest.mark.parametrize("tied", [True, False])
def test_a_vocabulary_grows_and_keeps_ids_and_vectors(
    make_backbone, letters, varied, tmp_path, refused, assert_close, tied
):
    reader, size = BertPreprocessor(letters, 12), letters.vocabulary_size()
    make = functools.partial(BertPretrainer, make_backbone(vocabulary_size=size + 2), False)
    model = varied(make(reader, tie_embeddings=tied))
    grown = model.grow_vocabulary(["bad", "A-b"])
    grown.save_to_preset(tmp_path)
    for task in (grown, BertPretrainer.from_preset(tmp_path)):
        assert task.preprocessor.tokenizer("bad ba a-bad") == [
            size,
            *letters("ba"),
            size + 1,
            *letters("ad"),
        ]
        for new, old in zip(task.get_weights(), model.get_weights(), strict=True):
            if new.shape == old.shape:
                assert np.array_equal(new, old)
                continue
            assert len(new) == size + 4 and np.array_equal(new[:size], old[:size])
            assert_close(new[size], old[letters("bad")].mean(axis=0))
    for words in ("bad", ["a"], [""], [], ["bad", "bad"]):
        refused("words that aren't tokens yet, each once; got", model.grow_vocabulary, words)
