"""From the shards of a corpus to the batches that pre-training takes."""

import functools
import math
import os

import tensorflow as tf

from keras_bert.corpus import masking, pairs
from keras_bert.corpus.record_groups import num_groups
from keras_bert.corpus.row_source import RowSource
from keras_bert.corpus.shards import Corpus
from keras_bert.text.vocabulary import CLS, MASK, SEP, read_vocabulary

ROWS_MASKED_AT_ONCE = 256


def pretraining_dataset(
    corpus,
    *,
    batch_size,
    sequence_length=128,
    max_predictions=None,
    masked_lm_rate=0.15,
    mask_token_rate=0.8,
    random_token_rate=0.1,
    whole_word_masking=False,
    next_sentence=True,
    random_next_rate=0.5,
    exact_random_next=False,
    short_sequence_rate=0.1,
    seed=0,
    start_step=0,
    shard=(0, 1),
    epochs=None,
):
    """Batches for `BertPretrainer.fit`, with pairs and masks that are new in every epoch.

    Pairs and masks follow `create_pretraining_data.py` of google-research/bert, which makes them
    once and for all: chunks of sentences filled to `sequence_length`, some to a random shorter
    length; a split at a random sentence; a second text that is a random one of another document
    with probability `random_next_rate`, and always where a chunk has one sentence only (so that
    Google's true rate is about 0.53 to 0.56); truncation token by token from the longer text, at a
    random end. What differs: a random text comes from another document among the 128 records
    that are planned together, which are of as many shards as there are, up to 16.

    Everything is a function of the seed and the position in the data: the same arguments give the
    same batches, and `start_step=k` those from step k on of a run that started at 0. Beginning
    inside an epoch costs a pass over the sentence lengths before it.

    Args:
        corpus: folder that `prepare_corpus` wrote, or a `Corpus`.
        batch_size: int, rows B of a batch.
        sequence_length: int, tokens S of a row, special ones included.
        max_predictions: int, prediction slots P of a row; by default enough for `masked_lm_rate`:
            20 at 128 and 80 at 512.
        masked_lm_rate: float, the tokens to predict, of all tokens of a row:
            `min(max_predictions, max(1, round(masked_lm_rate * tokens)))`.
        mask_token_rate: float, of these, how many become [MASK].
        random_token_rate: float, how many become a random word; the others stay as they are.
        whole_word_masking: bool, whether the pieces of a word are predicted together.
        next_sentence: bool; False gives rows of contiguous sentences in place of pairs.
        random_next_rate: float, how many second texts are random ones.
        exact_random_next: bool, whether `random_next_rate` is kept exactly, by parting chunks of
            one sentence within it. False is Google's way.
        short_sequence_rate: float, how many documents are made into shorter rows.
        seed: int.
        start_step: int, batches to leave out, as if they had been taken already.
        shard: `(index, count)`: this pipeline gives one of `count` disjoint parts of the data.
        epochs: int, passes over the corpus; None for ever.

    Returns:
        A `tf.data.Dataset` of `(x, y, sample_weight)`, static shapes:
            x: `token_ids`, `segment_ids`, `padding_mask` `[B, S]` and `mask_positions` `[B, P]`,
                int32;
            y: `masked_lm` `[B, P]` int32, the words that were there, and `next_sentence` `[B]`
                int32, 1 where the second text is a random one;
            sample_weight: `masked_lm` `[B, P]`, 0 at unused slots, and `next_sentence` `[B]`,
                float32.
        Without `next_sentence`, that key is absent.

    Raises:
        ValueError: for arguments out of range, a corpus that is not whole, an empty one, one of a
            single document where pairs are asked for or of too few records for so many shards,
            or a `start_step` behind the end.

    Example:
    ```python
    data = keras_bert.pretraining_dataset("corpus", batch_size=256, sequence_length=128)
    model.fit(data, steps_per_epoch=1000, epochs=900)
    ```
    """
    corpus = Corpus(corpus) if isinstance(corpus, str | os.PathLike) else corpus
    if max_predictions is None:
        max_predictions = 4 * math.ceil(masked_lm_rate * sequence_length / 4)
    _check(
        corpus,
        rates=dict(
            masked_lm_rate=masked_lm_rate,
            mask_token_rate=mask_token_rate,
            random_token_rate=random_token_rate,
            random_next_rate=random_next_rate,
            short_sequence_rate=short_sequence_rate,
        ),
        counts=dict(
            batch_size=batch_size,
            max_predictions=max_predictions,
            epochs=1 if epochs is None else epochs,
        ),
        sequence_length=sequence_length,
        next_sentence=next_sentence,
        start_step=start_step,
        shard=shard,
    )
    vocabulary = read_vocabulary(corpus.vocabulary_path)
    options = dict(sequence_length=sequence_length, short_sequence_rate=short_sequence_rate)
    if next_sentence:
        options.update(random_next_rate=random_next_rate, exact_random_next=exact_random_next)
    plan = functools.partial(pairs.plan_pairs if next_sentence else pairs.plan_sentences, **options)
    lay_out = functools.partial(
        pairs.lay_out,
        sequence_length=sequence_length,
        cls_token_id=vocabulary.index(CLS),
        sep_token_id=vocabulary.index(SEP),
    )
    mask = functools.partial(
        _masked,
        masked_lm_rate=masked_lm_rate,
        is_continuation=(
            tf.constant([token.startswith("##") for token in vocabulary])
            if whole_word_masking
            else None
        ),
        next_sentence=next_sentence,
        max_predictions=max_predictions,
        mask_token_rate=mask_token_rate,
        random_token_rate=random_token_rate,
        mask_token_id=vocabulary.index(MASK),
        vocabulary_size=len(vocabulary),
    )
    # Masks are made for several batches at once, which is faster where batches are small.
    together = max(1, ROWS_MASKED_AT_ONCE // batch_size)
    first_block, batches_before = divmod(start_step, together)
    source = RowSource(corpus, plan, lay_out, seed, shard, epochs)
    rows = source.rows(first_block * together * batch_size)
    blocks = rows.rebatch(together * batch_size).enumerate(start=first_block)
    batches = blocks.map(
        lambda block, row: mask(row, source.mask_seed(block)),
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=True,
    )
    batches = batches.rebatch(batch_size, drop_remainder=True).skip(batches_before)
    # Of several machines that share a batch each makes the whole one and takes its rows.
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return batches.prefetch(tf.data.AUTOTUNE).with_options(options)


def _masked(row, seed, *, masked_lm_rate, is_continuation, next_sentence, **options):
    """`(x, y, sample_weight)` of laid-out rows."""
    token_ids, first, second = row["token_ids"], row["first_length"], row["second_length"]
    lengths = pairs.row_lengths(first, second)
    column = tf.range(token_ids.shape[1])[None, :]  # [1, S]
    middle, last = first[:, None] + 1, lengths[:, None] - 1  # of the [SEP]s, [B, 1]
    is_candidate = (column > 0) & (column < last) & (column != middle)
    counts = masking.num_predictions(lengths, masked_lm_rate, options["max_predictions"])
    counts = tf.minimum(counts, first + second)
    seeds = tf.random.split(seed, 2)
    if is_continuation is None:
        chosen = masking.choose_tokens(is_candidate, counts, seeds[0])
    else:
        continues = tf.gather(is_continuation, token_ids)
        chosen = masking.choose_words(is_candidate, continues, counts, seeds[0])
    masked_ids, mask_positions, mask_ids, weights = masking.mask_tokens(
        token_ids, chosen, seeds[1], **options
    )
    x = {
        "token_ids": masked_ids,
        "segment_ids": tf.cast((column > middle) & (column <= last), tf.int32),
        "padding_mask": tf.cast(column <= last, tf.int32),
        "mask_positions": mask_positions,
    }
    y, sample_weight = {"masked_lm": mask_ids}, {"masked_lm": weights}
    if next_sentence:
        y["next_sentence"] = row["is_random"]
        sample_weight["next_sentence"] = tf.ones_like(row["is_random"], tf.float32)
    return x, y, sample_weight


def _check(corpus, rates, counts, sequence_length, next_sentence, start_step, shard):
    for name, rate in rates.items():
        if not 0 <= rate <= 1:
            raise ValueError(f"{name} is a probability, 0 to 1; got {rate}.")
    if rates["mask_token_rate"] + rates["random_token_rate"] > 1 + 1e-9:
        raise ValueError(
            "mask_token_rate and random_token_rate are parts of the predicted tokens and add up to "
            f"at most 1; got {rates['mask_token_rate']} and {rates['random_token_rate']}."
        )
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name} must be at least 1; got {count}.")
    least = 5 if next_sentence else 3
    if not least <= sequence_length <= 2048:
        raise ValueError(
            f"sequence_length must be {least} to 2048 (special tokens included); got "
            f"{sequence_length}. BERT is trained with 128, then 512."
        )
    if start_step < 0:
        raise ValueError(f"start_step must not be negative; got {start_step}.")
    index, count = shard
    if not 0 <= index < count:
        raise ValueError(f"shard must be (index, count) with 0 <= index < count; got {shard}.")
    if not corpus.num_sentences:
        raise ValueError(
            f"The corpus in {corpus.folder} has no sentences, so there is nothing to learn from. "
            "Prepare it again, from files with text in them."
        )
    groups = num_groups(corpus.num_records)
    if index >= groups:
        raise ValueError(
            f"The corpus in {corpus.folder} has {corpus.num_records:,} records, which make "
            f"{groups:,} groups, the least that a shard can be; shard={shard} has none of them. "
            f"Give at most {groups:,} shards, or a larger corpus."
        )
    if next_sentence and corpus.num_documents < 2:
        raise ValueError(
            f"The corpus in {corpus.folder} has {corpus.num_documents} document: next sentence "
            "prediction needs another one to draw random sentences from. Prepare more files, or "
            "say where documents end (document_separator), or give next_sentence=False."
        )
