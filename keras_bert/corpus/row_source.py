"""Rows of a corpus, over any number of epochs, starting at any row."""

import dataclasses

import tensorflow as tf

from keras_bert.corpus.masking import Masking
from keras_bert.corpus.packed_rows import Places, best_fit, sequence_lengths, write_rows
from keras_bert.corpus.pairs import Pairing
from keras_bert.corpus.record_groups import num_groups, parse_group, serialized_groups
from keras_bert.corpus.shards import Corpus

_SHARDS, _PLAN, _ORDER, _MASKS = range(4)  # folded into the seed, so that draws differ by purpose


@dataclasses.dataclass(frozen=True)
class RowSource:
    """Rows of a corpus, planned, packed and written group by group.

    Each row is a pure function of the seed, the epoch and the group. With `shard=(index, count)`,
    every count-th group is read; `epochs=None` gives endless data.
    """

    corpus: Corpus
    pairing: Pairing
    masking: Masking
    sequences_per_row: int
    seed: int
    shard: tuple[int, int]
    epochs: int | None

    def __post_init__(self):
        corpus = self.corpus
        index, count = self.shard
        groups = num_groups(corpus.num_records)
        if not 0 <= index < min(count, groups):
            raise ValueError(
                f"shard={self.shard} has no data: give (index, count), index below count and below "
                f"{groups:,}, the groups of {corpus.num_records:,} records in {corpus.folder}."
            )
        if self.pairing.next_sentence and corpus.num_documents < 2:
            raise ValueError(
                f"The corpus in {corpus.folder} has 1 document: random next sentences come from "
                "others. Prepare more files, split this one with document_separator "
                "(--document_separator '^CHAPTER '), or pass next_sentence=False "
                "(--no_next_sentence)."
            )

    def rows(self, first_row: int) -> tf.data.Dataset:
        """Reads rows starting at `first_row`, group by group, shuffled within each group.

        Returns a dataset of dicts of `token_ids` `[R, S]` and `first_length`, `second_length` and
        `is_random` `[R, K]`, int32.
        """
        first_epoch, first_group, rows_before = self._seek(first_row)

        def is_left(epoch, number, _):
            return (epoch > first_epoch) | (number >= first_group)

        @tf.autograph.experimental.do_not_convert
        def make_rows(epoch, number, serialized):
            group, texts, rows = self._plan(epoch, number, serialized)
            seed = self._seed(_ORDER, epoch, number)
            rows = tf.random.experimental.stateless_shuffle(rows, seed)
            is_first = (epoch == first_epoch) & (number == first_group)
            start = tf.where(is_first, rows_before, 0)
            texts = texts.take(rows[start:])
            length = self.pairing.sequence_length
            places = Places.of(texts.first_length, texts.second_length, length)
            return {
                "token_ids": write_rows(group, texts, places, self.corpus.vocabulary),
                "first_length": texts.first_length,
                "second_length": texts.second_length,
                "is_random": texts.is_random,
            }

        groups = self._groups(first_epoch).filter(is_left)
        return groups.map(make_rows, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)

    def mask_seed(self, block: tf.Tensor) -> tf.Tensor:
        """Returns the seed of the masks of a block of rows."""
        return self._seed(_MASKS, self.shard[0], block)

    def _groups(self, first_epoch):
        """Reads this source's groups as `(epoch, group number, serialized records)`."""
        index, count = self.shard
        epochs = tf.data.Dataset.counter(tf.constant(first_epoch, tf.int64))
        if self.epochs is not None:
            epochs = epochs.take(self.epochs - first_epoch)

        def of_epoch(epoch):
            groups = serialized_groups(self.corpus, self._seed(_SHARDS, epoch))
            return groups.shard(count, index).map(lambda number, group: (epoch, number, group))

        return epochs.flat_map(of_epoch)

    def _seek(self, first_row):
        """Finds a row: `(epoch, group number, rows before it in its group)`."""
        if first_row == 0:
            return 0, 0, 0

        @tf.autograph.experimental.do_not_convert
        def count(epoch, number, serialized):
            _, _, rows = self._plan(epoch, number, serialized)
            return epoch, number, tf.shape(rows)[0]

        before = 0
        groups = self._groups(0).map(count, tf.data.AUTOTUNE)
        for counts in groups.as_numpy_iterator():
            epoch, number, num_rows = map(int, counts)
            if before + num_rows > first_row:
                return epoch, number, first_row - before
            before += num_rows
            if epoch and not before:  # endless epochs without any row
                break
        raise ValueError(
            f"start_step is past the end of the data, which has {before:,} rows. Give more epochs, "
            "or None for endless data."
        )

    def _plan(self, epoch, number, serialized):
        group = parse_group(serialized, self.corpus.token_dtype)
        texts = self.pairing.plan(group, self._seed(_PLAN, epoch, number))
        tokens = sequence_lengths(texts.first_length, texts.second_length)
        predictions = self.masking.num_predictions(texts.first_length, texts.second_length)
        room = self.pairing.sequence_length, self.masking.num_slots, self.sequences_per_row
        return group, texts, best_fit(tokens, predictions, room)

    def _seed(self, *indices):
        seed = tf.constant([self.seed, 0])
        for index in indices:
            seed = tf.random.fold_in(seed, tf.cast(index, tf.int64))
        return seed
