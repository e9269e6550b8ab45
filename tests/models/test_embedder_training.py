"""Training of an embedder on pairs, triplets, scores and classes."""

import itertools

import keras
import numpy as np
import pytest
from scipy.special import logsumexp

from keras_bert import Batching, BertEmbedder
from keras_bert.losses import CoSENT, EmbeddingLoss, InBatchNegatives, check_dims
from keras_bert.training.global_loss import seed_states

ANCHORS = ["a b c", "d", "e f", "g h i", "j k", "l m n", "a b c", "o"]
POSITIVES = ["c b", "d d e", "f", "i h", "k", "n m", "b a", "p o o a"]  # "a b c" has two
SCORES = [5, 1, 4.5, 0, 2, 3, 3.5, 1]
CLASSES = ["red", "blue", "red", "blue", "green", "green", "red", "blue"]


@pytest.fixture
def model(make_backbone, varied, preprocessor):
    return varied(BertEmbedder(make_backbone(), preprocessor=preprocessor))


def by_hand(numbers, vectors, scale=20.0):
    """The loss of in-batch negatives, anchor by anchor, in float64."""
    vectors, losses = vectors.astype("float64"), []
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    for i, (anchor, positive, *_) in enumerate(numbers):
        scores = []
        for (j, place), candidate in np.ndenumerate(numbers[:, 1:]):
            is_equal = candidate in (anchor, positive) or (place == 0 and numbers[j, 0] == anchor)
            if (i, 0) == (j, place) or not is_equal:
                scores.append(scale * vectors[i, 0] @ vectors[j, place + 1])
        losses.append(logsumexp(scores) - scale * vectors[i, 0] @ vectors[i, 1])
    return np.mean(losses)


def test_equal_texts_are_no_negatives_and_prefixes_are_trained_too(model, eager):
    rng, reader = np.random.default_rng(1), model.preprocessor
    prefixes = eager(BertEmbedder(model.backbone, preprocessor=reader, matryoshka_dims=(16, 3)))
    for texts in (2, 4):
        numbers = rng.integers(0, 15, (12, texts))
        columns = tuple([chr(ord("a") + n) for n in column] for column in numbers.T)
        vectors = np.stack([eager(model).predict(column) for column in columns], axis=1)
        whole, prefix = (by_hand(numbers, vectors[..., :dim]) for dim in (16, 3))
        assert model.evaluate(columns) == pytest.approx(whole, rel=1e-4)
        assert prefixes.evaluate(columns) == pytest.approx(whole + prefix, rel=1e-4)
        distinct = np.arange(12 * texts).reshape(12, texts)
        assert by_hand(distinct, vectors) != pytest.approx(whole, rel=1e-3)


def test_cosent_ranks_every_two_pairs():
    vectors = np.random.default_rng(1).normal(size=(8, 2, 4))
    units = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    cosines = 20 * (units[:, 0] * units[:, 1]).sum(axis=-1)
    pairs = itertools.permutations(zip(cosines, SCORES, strict=True), 2)
    excess = [0, *(b - a for (a, more), (b, less) in pairs if more > less)]
    found = float(EmbeddingLoss()(np.array(SCORES), vectors))
    assert found == pytest.approx(logsumexp(excess), rel=1e-5)


def test_pairs_hold_their_scores_in_any_list(model, eager, assert_close, caplog):
    rows = [*zip(ANCHORS, POSITIVES, SCORES, strict=True)]
    pairs = [((anchor, positive), score) for anchor, positive, score in rows]
    eager(model)
    expected = model.scores((ANCHORS, POSITIVES), SCORES)
    for data in (rows, pairs, iter(rows)):
        assert_close(model.scores(data), expected)
    model.fit((ANCHORS, POSITIVES), np.ones((8, 1)))
    assert (
        "All 8 labels are [1.]: nothing can be learned. Positives alone are fit((texts, others))"
        in caplog.text
    )


def test_streams_that_teach_nothing_are_refused(tensorflow, model, refused):
    data = tensorflow.data.Dataset.from_tensor_slices
    for examples, message in (
        ((ANCHORS, np.arange(8)), "yields .anchor, positive"),
        (((ANCHORS, POSITIVES), np.full(8, np.nan)), "scores of pairs .*nan at"),
    ):
        refused(message, list, model.batches(data(examples)))


def test_classes_draw_new_partners_in_each_epoch(model):
    texts = [f"a {'b ' * number}" for number in range(8)]  # told apart by their length
    rows = model.preprocessor.read(texts, CLASSES)

    def epochs(seed):
        batches = rows.batches(Batching(3, shuffle=True, seed=seed))
        for _ in range(2):
            epoch = []
            for inputs, _ in batches:
                lengths = [column["padding_mask"].sum(axis=1) - 3 for column in inputs]
                epoch += np.stack(lengths, axis=1).tolist()
            yield epoch

    drawn = [*epochs(1), *epochs(2)]
    for epoch in drawn:
        assert sorted(anchor for anchor, *_ in epoch) == list(range(8))
        for anchor, positive, negative in epoch:
            assert CLASSES[anchor] == CLASSES[positive] != CLASSES[negative]
            assert anchor != positive
    assert len({str(epoch) for epoch in drawn}) == 4
    assert [*epochs(1)] == drawn[:2]


@pytest.mark.slow
def test_parts_of_a_batch_are_dropped_out_alike_twice(make_backbone, preprocessor):
    """The step goes down the gradient of the loss that it reports, whose masks it repeats."""
    model = BertEmbedder(make_backbone(dropout=0.3), preprocessor=preprocessor)
    states = seed_states(model)
    start = [state.numpy() for state in states]
    weights, losses = [model.get_weights()], []
    settings = {"batch_size": 8, "shuffle": False, "accumulation_steps": 4}
    for _ in range(2):  # the second starts after a step, from the same seeds
        for state, seed in zip(states, start, strict=True):
            state.assign(seed)
        model.compile(keras.optimizers.SGD(1e-5), InBatchNegatives(), run_eagerly=True)
        keras.utils.set_random_seed(1)  # of PyTorch, whose dropout takes no seed
        losses += model.fit((ANCHORS, POSITIVES), **settings).history["loss"]
        weights.append(model.get_weights())
        for state, seed in zip(states, start, strict=True):
            is_torch = keras.backend.backend() == "torch"
            assert is_torch or (state.numpy() != seed).any()  # it moves on
    steps = [np.sum((a - b) ** 2) for a, b in zip(*weights[:2], strict=True)]
    assert losses[0] - losses[1] == pytest.approx(sum(steps) / 1e-5, rel=0.1)


def test_it_is_saved_with_its_loss(model, eager, reloaded, tmp_path, preprocessor):
    trained = BertEmbedder(model.backbone, preprocessor=preprocessor, matryoshka_dims=(16, 4))
    loaded = reloaded(eager(trained))
    assert loaded.loss.matryoshka_dims == loaded.matryoshka_dims == (16, 4)
    trained.save_to_preset(tmp_path / "preset")
    assert BertEmbedder.from_preset(tmp_path / "preset", truncate_dim=4).matryoshka_dims == (4,)


def test_examples_that_teach_nothing_are_refused(model, refused):
    pairs = ["a", "b"], ["c", "d"]
    for x, y, message in (
        ((["a", " "], ["b", "c"]), None, "The anchor of example 1 is empty; 1 of 2 are"),
        (pairs, [1, float("nan")], "must be finite numbers"),
        ((*pairs, ["e", "f"]), [1, 2], "examples of 3 texts with y"),
        (["a", "b"] * 2, ["x", "x", None, None], "label is missing; number 2 is None"),
        (["a", "b"], ["x", "x"], "All 2 texts have the class 'x'"),
        (["a", "b"], [0.5, 0.1], "Scores need pairs of texts: fit"),
    ):
        refused(message, model.fit, x, y)


def test_settings_that_teach_nothing_are_refused(model, refused):
    x = (ANCHORS, POSITIVES)
    by_length = Batching(bucket_lengths=(12,))
    refused("can't be sorted by length", model.batches, ANCHORS, CLASSES, batching=by_length)
    refused("take no sample_weight", model.fit, x, SCORES, sample_weight=np.ones(8))
    for dims in ((), (0,), (5,), 4):
        refused("from 1 to 4", check_dims, dims, 4)
    check_dims((1, 4), 4)
    refused(r"\[B, 2, H\]; got \(4, 3, 8\)", CoSENT(), np.zeros(4), np.ones((4, 3, 8)))
    refused("needs pairs of texts.*or texts with their classes", model.scores, ANCHORS)
