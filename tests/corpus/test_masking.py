import numpy as np
import tensorflow as tf

from keras_bert.corpus import masking
from keras_bert.corpus.masking import Masking

NO_MASKS = {"mask_token_rate": 0.0, "random_token_rate": 1.0}


def test_every_candidate_is_chosen_equally_often():
    candidates = tf.constant([[False, True, True, True, False, True, True, False]] * 6000)
    chosen = masking._choose_tokens(candidates, tf.fill([6000], 2), [1, 2]).numpy()
    assert np.all(chosen.sum(axis=1) == 2)
    rates = chosen.mean(axis=0)
    assert rates[[0, 4, 7]].sum() == 0
    assert np.all(np.abs(rates[[1, 2, 3, 5, 6]] - 0.4) < 4 * (0.24 / 6000) ** 0.5)


def greedy(words, order, count):
    """The published rule: words in order; one that would exceed the count is skipped."""
    taken = []
    for word in order:
        if len(taken) >= count:
            break
        if len(taken) + len(words[word]) <= count:
            taken += words[word]
    return set(taken)


def test_whole_words_follow_the_greedy_rule(monkeypatch):
    rng = np.random.default_rng(3)
    batch, length = 300, 40
    candidate = rng.random((batch, length)) < rng.random((batch, 1))
    continues = rng.random((batch, length)) < 0.45
    counts = rng.integers(1, 8, batch).astype("int32")
    order_of, keys = masking._random_order, []

    def remember(eligible, seed):
        keys.append(order_of(eligible, seed))
        return keys[-1]

    monkeypatch.setattr(masking, "_random_order", remember)
    arguments = map(tf.constant, (candidate, continues, counts))
    chosen = masking._choose_words(*arguments, [5, 6]).numpy()
    for i in range(batch):
        words = []
        for position in np.flatnonzero(candidate[i]):
            if continues[i, position] and words:
                words[-1].append(position)
            else:
                words.append([position])
        row_keys = keys[0][i].numpy()
        order = [w for w in np.argsort(-row_keys) if row_keys[w] >= 0]
        assert set(np.flatnonzero(chosen[i])) == greedy(words, order, counts[i])


def test_most_become_a_mask_some_a_word_of_the_vocabulary_and_some_stay():
    ids, vocabulary = tf.fill([200, 100], 7), [*"abcd", "[MASK]", *"efghi"]
    for rates, masked, drawn in (({}, 0.8, 0.1), (NO_MASKS, 0.0, 1.0)):
        masking, chosen = Masking(100, **rates), tf.ones_like(ids, tf.bool)
        replaced = masking._with_replacements(ids, chosen, [1, 2], vocabulary).numpy()
        shares = np.bincount(replaced.ravel(), minlength=10) / 20_000
        expected = np.full(10, drawn / 10)
        expected[4] += masked
        expected[7] += 1 - masked - drawn
        deviations = (expected * (1 - expected) / 20_000) ** 0.5
        assert np.all(np.abs(shares - expected) < 4 * deviations), rates
