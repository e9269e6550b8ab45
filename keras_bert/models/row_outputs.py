"""Prediction of rows in memory with little padding. N rows, S sequence."""

import keras
import numpy as np

from keras_bert.preprocessing.batching import Batching, quarters


def row_outputs(model, rows, batch_size, **kwargs):
    """Predicts rows in batches of similar lengths, and returns the outputs in the rows' order.

    Args:
        model: a `BertTask`.
        rows: the rows that the preprocessor read.
        batch_size: int.
        **kwargs: arguments of `keras.Model.predict`.

    Returns:
        Arrays in the structure of the model's outputs. A token axis has the preprocessor's
        `sequence_length`, with 0 past the end of a row.
    """
    import tensorflow as tf

    from keras_bert.preprocessing.row_batches import by_length

    reads_tokens = len(model.input["token_ids"].shape) == 2  # [B, C, S] for choices
    lengths, longest = rows.num_tokens(), model.preprocessor.sequence_length
    order = by_length(lengths)
    starts = range(0, len(order), batch_size)
    if not _has_unknown_axis(model):
        groups = [(order, Batching(batch_size).for_rows(longest))]
    else:  # few widths, so that batches of one width can be concatenated
        cuts = np.array(quarters(longest))
        width = cuts[np.searchsorted(cuts, lengths[order[np.array(starts)]])]
        width = np.repeat(width, batch_size)[: len(order)]
        groups = [
            (order[width == cut], Batching(batch_size, pad_to=(int(cut),)).for_rows(longest))
            for cut in np.unique(width)[::-1]
        ]

    def predicted(numbers, batching):
        batches = tf.data.Dataset.from_tensor_slices(numbers).batch(batch_size)
        batches = batches.map(lambda row: rows.batch(row, batching)[0], tf.data.AUTOTUNE)
        return model.predict_batches(batches.prefetch(tf.data.AUTOTUNE), **kwargs)

    parts = [predicted(numbers, batching) for numbers, batching in groups]
    back = np.argsort(np.concatenate([numbers for numbers, _ in groups]))

    def joined(spec, *arrays):
        if None in spec.shape[1:] and reads_tokens:
            arrays = [_padded(array, longest) for array in arrays]
        return np.concatenate(arrays)[back]

    return keras.tree.map_structure(joined, model.output, *parts)


def _has_unknown_axis(model):
    return any(None in part.shape[1:] for part in keras.tree.flatten(model.output))


def _padded(array, size):
    return np.pad(array, [(0, 0), (0, size - array.shape[1])] + [(0, 0)] * (array.ndim - 2))
