import random

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.corpus import pairs
from keras_bert.corpus.record_groups import RecordGroup


def group_of(documents):
    """A group of documents, each a list of the lengths of its sentences."""
    sentence_starts, record_starts = (
        tf.constant(np.cumsum([0, *lengths]), tf.int32)
        for lengths in (np.concatenate(documents), map(len, documents))
    )
    return RecordGroup(
        token_ids=tf.range(sentence_starts[-1]),
        sentence_starts=sentence_starts,
        record_starts=record_starts,
        document_ids=tf.range(len(documents), dtype=tf.int64),
    )


def truncate_one_by_one(first, second, room):
    while first + second > room:
        first, second = (first - 1, second) if first > second else (first, second - 1)
    return first, second


def test_truncation_takes_what_a_loop_takes():
    grid = np.stack(np.meshgrid(np.arange(1, 41), np.arange(1, 41)), -1).reshape(-1, 2)
    first, second = (tf.constant(column, tf.int32) for column in grid.T)
    rows = pairs.TextPairs(first * 0, first, first * 0, second, first * 0)
    for room in (5, 20):
        cut = pairs._truncated(rows, room, tf.constant([1, 2]))
        expected = np.array([truncate_one_by_one(*lengths, room) for lengths in grid])
        assert np.array_equal(np.stack([cut.first_length, cut.second_length], 1), expected)
        # About half of the removed tokens come from the front, and never more than all of them.
        fronts = np.stack([cut.first_start, cut.second_start], 1)
        removed = grid - expected
        assert np.all(fronts <= removed)
        assert abs(fronts.sum() / removed.sum() - 0.5) < 4 * 0.5 / removed.sum() ** 0.5


def test_random_texts_never_come_from_a_piece_of_the_same_document():
    group = group_of([[1] * 30] * 8)
    group.document_ids = tf.constant([0, 1, 0, 0, 2, 0, 0, 1], tf.int64)
    document = np.repeat(group.document_ids.numpy(), 30)
    for seed in range(5):
        rows = pairs.Pairing(11).plan(group, tf.constant([seed, 7]))
        chosen = rows.is_random.numpy() == 1
        first = document[rows.first_start.numpy()]
        second = document[rows.second_start.numpy()]
        assert chosen.any() and np.all(first[chosen] != second[chosen])
        assert np.all(first[~chosen] == second[~chosen])


def test_one_document_in_a_group_makes_no_wrong_labels():
    rows = pairs.Pairing(13).plan(group_of([[1] * 50]), tf.constant([1, 2]))
    assert len(rows.is_random) > 0 and not rows.is_random.numpy().any()


def test_a_text_of_one_sentence_is_followed_by_one_of_another_document():
    rows = pairs.Pairing(13).plan(group_of([[5]] * 8), tf.constant([1, 2]))
    assert rows.is_random.numpy().tolist() == [1] * 8
    assert not np.any(rows.first_start == rows.second_start)


def google_pairs(documents, room, rng):
    """The published algorithm, as a plain loop: `(length of A, length of B, is random)`.

    Documents are lists of the lengths of sentences.
    """
    instances = []
    for number, document in enumerate(documents):
        target = rng.randint(2, room) if rng.random() < 0.1 else room
        chunk, i = [], 0
        while i < len(document):
            chunk.append(document[i])
            if i == len(document) - 1 or sum(chunk) >= target:
                split = 1 if len(chunk) == 1 else rng.randint(1, len(chunk) - 1)
                a = sum(chunk[:split])
                is_random = len(chunk) == 1 or rng.random() < 0.5
                if is_random:
                    other = rng.choice([d for d in range(len(documents)) if d != number])
                    b = 0
                    for sentence in documents[other][rng.randrange(len(documents[other])) :]:
                        b += sentence
                        if b >= target - a:
                            break
                    i -= len(chunk) - split
                else:
                    b = sum(chunk[split:])
                instances.append((*truncate_one_by_one(a, b, room), is_random))
                chunk = []
            i += 1
    return np.array(instances, float)


@pytest.mark.parametrize("length", [32, 128])
def test_pairs_are_distributed_as_those_of_the_published_loop(documents, length):
    group = group_of(documents.sentence_lengths)

    @tf.function
    def plan(seed):
        rows = pairs.Pairing(length).plan(group, seed)
        return tf.stack([rows.first_length, rows.second_length, rows.is_random], axis=1)

    rng = random.Random(1)
    passes = [google_pairs(documents.sentence_lengths, length - 3, rng) for _ in range(40)]
    ours = [plan(tf.constant([seed, 5])).numpy().astype(float) for seed in range(40)]

    def compare(statistic):
        theirs, mine = ([statistic(p) for p in each] for each in (passes, ours))
        error = (np.var(theirs) / len(theirs) + np.var(mine) / len(mine)) ** 0.5
        assert abs(np.mean(theirs) - np.mean(mine)) < 4 * error, (
            np.mean(theirs),
            np.mean(mine),
        )

    compare(len)  # instances a pass
    for column in range(3):  # tokens of A and of B, random next
        compare(lambda p, column=column: p[:, column].mean())
    compare(lambda p: (p[:, 0] + p[:, 1]).std())
