"""Rows of a corpus, over any number of epochs, starting at any row."""

from collections.abc import Callable

import tensorflow as tf

from keras_bert.corpus.packed_rows import Places, write_rows
from keras_bert.corpus.record_groups import parse_group, serialized_groups
from keras_bert.corpus.shards import Corpus

_SHARDS, _PLAN, _ORDER, _MASKS = range(4)  # folded into the seed, so that draws differ by purpose


class RowSource:
    """Rows of a corpus, planned, packed and written group by group.

    Each row is a pure function of the seed, the epoch and the group.

    Args:
        corpus: a `Corpus`.
        plan: a function from a `RecordGroup` and a seed to `TextPairs` `[n]`.
        pack: a function from them to int32 `[R, K]`, the sequences of each row, -1 for none.
        sequence_length: int, S.
        special: a dict of `cls_token_id` and `sep_token_id`.
        seed: int.
        shard: `(index, count)`: this source reads every count-th group.
        epochs: int, or None for endless data.
    """

    def __init__(
        self,
        corpus: Corpus,
        plan: Callable,
        pack: Callable,
        sequence_length: int,
        special: dict[str, int],
        seed: int,
        shard: tuple[int, int],
        epochs: int | None,
    ):
        self.corpus, self.plan, self.pack = corpus, plan, pack
        self.sequence_length, self.special = sequence_length, special
        self.seed, self.shard, self.epochs = tf.constant([seed, 0]), shard, epochs

    def rows(self, first_row: int) -> tf.data.Dataset:
        """Reads rows starting at `first_row`, group by group, shuffled within each group.

        Returns:
            A dataset of dicts of `token_ids` `[R, S]` and `first_length`, `second_length` and
            `is_random` `[R, K]`, int32.

        Raises:
            ValueError: if the data has fewer rows.
        """
        first_epoch, first_group, rows_before = self._seek(first_row)

        def is_left(epoch, number, _):
            return (epoch > first_epoch) | (number >= first_group)

        @tf.autograph.experimental.do_not_convert
        def make_rows(epoch, number, serialized):
            group, texts, rows = self._plan(epoch, number, serialized)
            rows = tf.random.experimental.stateless_shuffle(rows, self._seed(_ORDER, epoch, number))
            is_first = (epoch == first_epoch) & (number == first_group)
            texts = texts.take(rows[tf.where(is_first, rows_before, 0) :])
            places = Places.of(texts.first_length, texts.second_length, self.sequence_length)
            return {
                "token_ids": write_rows(group, texts, places, **self.special),
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
            counts = [shard["num_records"] for shard in self.corpus.shards]
            seed = self._seed(_SHARDS, epoch)
            groups = serialized_groups(self.corpus.shard_paths, counts, seed)
            return groups.shard(count, index).map(lambda *group: (epoch, *group))

        return epochs.flat_map(of_epoch)

    def _seek(self, first_row):
        """Finds a row: `(epoch, group number, rows before it in its group)`."""
        if first_row == 0:
            return 0, 0, 0

        @tf.autograph.experimental.do_not_convert
        def count(epoch, number, serialized):
            return epoch, number, tf.shape(self._plan(epoch, number, serialized)[2])[0]

        before = 0
        for counts in self._groups(0).map(count, tf.data.AUTOTUNE).as_numpy_iterator():
            epoch, number, num_rows = map(int, counts)
            if before + num_rows > first_row:
                return epoch, number, first_row - before
            before += num_rows
            if epoch and not before:  # endless epochs without any row
                break
        raise ValueError(
            f"start_step is past the end of the data, which has {before:,} rows; the steps "
            f"before it would take {first_row:,}. Give more epochs, or None for endless data."
        )

    def _plan(self, epoch, number, serialized):
        group = parse_group(serialized, self.corpus.token_dtype)
        texts = self.plan(group, self._seed(_PLAN, epoch, number))
        return group, texts, self.pack(texts)

    def _seed(self, *parts):
        seed = self.seed
        for part in parts:
            seed = tf.random.fold_in(seed, tf.cast(part, tf.int64))
        return seed
