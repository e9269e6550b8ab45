"""The rows of a corpus, epoch after epoch, from any row on."""

import tensorflow as tf

from keras_bert.corpus.pairs import Rows
from keras_bert.corpus.record_groups import parse_window, serialized_windows

_SHARDS, _PLAN, _ORDER, _MASKS = range(4)  # what a seed is folded with, so that draws differ


class RowSource:
    """Plans windows and lays their rows out; all is a function of seed, epoch and window.

    Args:
        corpus: a `Corpus`.
        plan: a function of a `Window` and a seed that gives `Rows`.
        lay_out: a function of a `Window` and `Rows` that gives token ids `[n, S]`.
        seed: int.
        shard: `(index, count)`: every count-th window is this source's.
        epochs: int, or None for ever.
    """

    def __init__(self, corpus, plan, lay_out, seed, shard, epochs):
        self.corpus, self.plan, self.lay_out = corpus, plan, lay_out
        self.seed, self.shard, self.epochs = tf.constant([seed, 0]), shard, epochs

    def rows(self, first_row):
        """Rows from `first_row` on, window by window, shuffled within each.

        Returns:
            A dataset of dicts of `token_ids` `[n, S]` and `first_length`, `second_length` and
            `is_random` `[n]`, int32.

        Raises:
            ValueError: if there are fewer rows.
        """
        first_epoch, first_window, rows_before = self._seek(first_row)

        def is_left(epoch, number, _):
            return (epoch > first_epoch) | (number >= first_window)

        def make_rows(epoch, number, serialized):
            window, rows = self._plan(epoch, number, serialized)
            order = tf.random.experimental.stateless_shuffle(
                tf.range(tf.size(rows.first_length)), self._seed(_ORDER, epoch, number)
            )
            is_first = (epoch == first_epoch) & (number == first_window)
            order = order[tf.where(is_first, rows_before, 0) :]
            rows = Rows(*(tf.gather(field, order) for field in vars(rows).values()))
            return {
                "token_ids": self.lay_out(window, rows),
                "first_length": rows.first_length,
                "second_length": rows.second_length,
                "is_random": rows.is_random,
            }

        windows = self._windows(first_epoch).filter(is_left)
        return windows.map(make_rows, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)

    def mask_seed(self, block):
        """The seed of the masks of a block of rows."""
        return self._seed(_MASKS, self.shard[0], block)

    def _windows(self, first_epoch):
        """`(epoch, window number, serialized records)` of this source's windows."""
        index, count = self.shard
        epochs = tf.data.Dataset.counter(tf.constant(first_epoch, tf.int64))
        if self.epochs is not None:
            epochs = epochs.take(self.epochs - first_epoch)

        def of_epoch(epoch):
            windows = serialized_windows(self.corpus.shard_paths, self._seed(_SHARDS, epoch))
            return windows.shard(count, index).map(lambda *window: (epoch, *window))

        return epochs.flat_map(of_epoch)

    def _seek(self, first_row):
        """`(epoch, window, rows before it in its window)` of a row."""
        if first_row == 0:
            return 0, 0, 0

        def count(epoch, number, serialized):
            return epoch, number, tf.size(self._plan(epoch, number, serialized)[1].first_length)

        before = 0
        for window in self._windows(0).map(count, tf.data.AUTOTUNE).as_numpy_iterator():
            epoch, number, size = map(int, window)
            if before + size > first_row:
                return epoch, number, first_row - before
            before += size
            if epoch and not before:
                break
        raise ValueError(
            f"start_step is behind the end of the data, which has {before:,} rows; the steps "
            f"before it would take {first_row:,}. Give more epochs, or None for ever."
        )

    def _plan(self, epoch, number, serialized):
        window = parse_window(serialized, self.corpus.token_dtype)
        return window, self.plan(window, self._seed(_PLAN, epoch, number))

    def _seed(self, *parts):
        seed = self.seed
        for part in parts:
            seed = tf.random.fold_in(seed, tf.cast(part, tf.int64))
        return seed
