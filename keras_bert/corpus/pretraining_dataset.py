"""Pre-training batches: the shards of a corpus, paired and masked on the fly."""

import os
from typing import Any

from keras_bert.messages import check_int, from_extra

with from_extra("tensorflow"):
    import tensorflow as tf

from keras_bert.corpus.masking import Masking
from keras_bert.corpus.packed_rows import Places
from keras_bert.corpus.pairs import Pairing
from keras_bert.corpus.row_source import RowSource
from keras_bert.corpus.shards import Corpus

ROWS_MASKED_AT_ONCE = 256


def pretraining_dataset(
    corpus: str | os.PathLike | Corpus,
    *,
    batch_size: int,
    sequence_length: int = 128,
    max_predictions: int | None = None,
    masked_lm_rate: float = 0.15,
    mask_token_rate: float = 0.8,
    random_token_rate: float = 0.1,
    whole_word_masking: bool = False,
    next_sentence: bool = True,
    short_sequence_rate: float = 0.1,
    packed: bool = False,
    sequences_per_row: int = 8,
    seed: int = 0,
    start_step: int = 0,
    shard: tuple[int, int] = (0, 1),
    epochs: int | None = None,
) -> tf.data.Dataset:
    """Makes batches for `BertPretrainer.fit`, with new pairs and masks in every epoch.

    Pairs and masks follow `create_pretraining_data.py` of google-research/bert, which draws them
    only once. A chunk is filled with sentences up to `sequence_length`, or up to a random shorter
    length, and split at a random sentence. The second text is a random one from another document
    with probability 0.5, and always if the chunk has only one sentence, so that the true rate is
    about 0.53 to 0.56. The longer text is truncated token by token, at a random end.

    A random text comes from another document in the same group: 128 records, interleaved from up
    to 16 shards. A document alone in its group gets none. Google's code takes any document.

    Every batch is a pure function of the seed and the position in the data, so that `start_step=k`
    continues exactly as an uninterrupted run would at step k. Starting inside an epoch costs a pass
    over the sentence lengths before that step.

    Args:
        corpus: folder that `prepare_corpus` wrote, or a `Corpus`.
        batch_size: int, rows per batch, B.
        sequence_length: int, tokens per row including special tokens, S.
        max_predictions: int, prediction slots per row, P; by default enough for `masked_lm_rate`:
            20 at 128 and 80 at 512.
        masked_lm_rate: float, the fraction of a row's tokens to predict:
            `min(max_predictions, max(1, round(masked_lm_rate * tokens)))`.
        mask_token_rate: float, the fraction of predicted tokens that become [MASK].
        random_token_rate: float, the fraction that become a random word; the others stay.
        whole_word_masking: bool, whether the pieces of a word are predicted together.
        next_sentence: bool; False gives rows of contiguous sentences instead of pairs.
        short_sequence_rate: float, the fraction of documents with rows of a shorter length.
        packed: bool, whether several short sequences share a row, so that almost nothing is padded.
            Losses are the same as with one sequence per row.
        sequences_per_row: int, the most sequences K that a packed row holds.
        seed: int, of all random choices.
        start_step: int, the number of batches to skip.
        shard: `(index, count)`: this pipeline reads one of `count` disjoint parts of the data.
        epochs: int, passes over the corpus; None for endless data. A batch may span two epochs, and
            the last rows, which do not fill a batch, are dropped.

    Returns:
        A `tf.data.Dataset` of `(x, y, sample_weight)` with static shapes, int32, weights float32:
            x: `token_ids`, `segment_ids`, `padding_mask` `[B, S]` and `mask_positions` `[B, P]`;
            y: `masked_lm` `[B, P]`, the original tokens, and `next_sentence` `[B]`, 1 if the second
                text is random;
            sample_weight: `masked_lm` `[B, P]`, 0 at unused slots, and `next_sentence` `[B]`.
        With `next_sentence=False` there is no `next_sentence` key. Packed rows have `sequence_ids`
        `[B, S]` in place of `padding_mask`: 1, 2, ... at the tokens of the row's sequences and 0 at
        padding. Their `next_sentence` labels and weights are `[B, K]`, and x has `cls_positions`
        `[B, K]`; unused slots have weight 0.

    Raises:
        ValueError: if an argument is out of range, `start_step` is past the end of the data, or the
            corpus is incomplete, empty, of one document (with pairs) or too small for `shard`.

    Example:
    ```python
    data = keras_bert.pretraining_dataset("corpus", batch_size=256, sequence_length=128)
    model.fit(data, steps_per_epoch=1000, epochs=900)
    ```
    """
    corpus = _opened(corpus)
    pairing = Pairing(sequence_length, next_sentence, short_sequence_rate)
    masking = Masking(
        sequence_length,
        max_predictions=max_predictions,
        masked_lm_rate=masked_lm_rate,
        mask_token_rate=mask_token_rate,
        random_token_rate=random_token_rate,
        whole_word_masking=whole_word_masking,
    )
    check_int("batch_size", batch_size)
    if epochs is not None:
        check_int("epochs", epochs)
    check_int("sequences_per_row", sequences_per_row, at_least=2)
    check_int("start_step", start_step, at_least=0)
    most = sequences_per_row if packed else 1
    source = RowSource(corpus, pairing, masking, most, seed, shard, epochs)
    return _batches(source, batch_size, start_step)


def heldout_dataset(
    heldout: str | os.PathLike | Corpus,
    corpus: str | os.PathLike | Corpus,
    *,
    multiple_of: int = 1,
    **settings: Any,
) -> tf.data.Dataset:
    """Makes `validation_data` for `BertPretrainer.fit` from a corpus that is not trained on.

    One pass over the held-out corpus, of known length and kept in memory: pairs and masks are the
    same at every evaluation.

    Args:
        heldout: the held-out corpus, a folder that `prepare_corpus` wrote, or a `Corpus`.
        corpus: the training corpus, to compare the vocabularies.
        multiple_of: int, the model's `steps_per_execution`: batches after the last multiple are
            dropped.
        **settings: arguments of `pretraining_dataset`, the same as for training, with `batch_size`.

    Raises:
        ValueError: if the corpora differ in vocabulary or casing, the held-out text has fewer than
            `multiple_of` batches, or `pretraining_dataset` refuses a setting.

    Example:
    ```python
    settings = {"batch_size": 256, "sequence_length": 128}
    data = keras_bert.pretraining_dataset("corpus", **settings)
    heldout = keras_bert.heldout_dataset("others", "corpus", **settings)
    model.fit(data, validation_data=heldout, steps_per_epoch=1000, epochs=900)
    ```
    """
    heldout = _opened(heldout)
    corpus = _opened(corpus)
    name = f"The corpus in {heldout.folder}"
    corpus.check_same(name, heldout.vocabulary, heldout.lowercase)
    data = pretraining_dataset(heldout, epochs=1, **settings).cache()
    batches = sum(1 for _ in data)
    batches -= batches % multiple_of
    if not batches:
        raise ValueError(
            f"{heldout.folder} has fewer than {multiple_of} batches of {settings['batch_size']} "
            "rows. Hold out more text, or reduce batch_size or steps_per_execution."
        )
    return data.take(batches).apply(tf.data.experimental.assert_cardinality(batches))


def _opened(corpus):
    return corpus if isinstance(corpus, Corpus) else Corpus(corpus)


def _batches(source, batch_size, start_step):
    """Makes batches; small ones are masked several at a time, which is faster."""
    together = max(1, ROWS_MASKED_AT_ONCE // batch_size)
    first_block, batches_before = divmod(start_step, together)
    rows = source.rows(first_block * together * batch_size)
    blocks = rows.rebatch(together * batch_size).enumerate(start=first_block)

    @tf.autograph.experimental.do_not_convert
    def mask(block, row):
        return _masked(source, row, source.mask_seed(block))

    batches = blocks.map(mask, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    batches = batches.rebatch(batch_size, drop_remainder=True).skip(batches_before)
    # When several machines share a batch, each makes the entire batch and takes its own rows.
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    options.autotune.enabled = False  # it delays the end of an epoch; see `prefetched`
    return batches.prefetch(tf.data.AUTOTUNE).with_options(options)


def _masked(source, row, seed):
    first = row["first_length"]
    second = row["second_length"]
    is_packed = source.sequences_per_row > 1
    places = Places.of(first, second, row["token_ids"].shape[1])
    counts = source.masking.num_predictions(first, second)
    token_ids, (positions, labels, weights) = source.masking.masked(
        row["token_ids"], places, counts, seed, source.corpus.vocabulary
    )
    is_second = (places.column > places.middle) & places.is_token
    x = {
        "token_ids": token_ids,
        "segment_ids": tf.cast(is_second, tf.int32),
        "mask_positions": positions,
    }
    y = {"masked_lm": labels}
    sample_weight = {"masked_lm": weights}
    if is_packed:
        x["sequence_ids"] = tf.where(places.is_token, places.slot + 1, 0)
    else:
        x["padding_mask"] = tf.cast(places.is_token, tf.int32)
    if source.pairing.next_sentence:
        is_random = row["is_random"]  # [B, K]
        is_used = places.lengths > 0
        if is_packed:
            x["cls_positions"] = tf.where(is_used, places.starts, 0)
        else:
            is_random = is_random[:, 0]  # [B]
            is_used = is_used[:, 0]
        y["next_sentence"] = is_random
        sample_weight["next_sentence"] = tf.cast(is_used, tf.float32)
    return x, y, sample_weight
