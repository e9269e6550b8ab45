"""Prediction of rows in memory with little padding. N rows, S sequence."""

import functools

import keras
import numpy as np

from keras_bert.preprocessing.batches import Batches, by_length, cut_rows
from keras_bert.preprocessing.batching import Batching, quarters
from keras_bert.training.prediction import predict_each

_COST_OF_A_BATCH = 64  # tokens of padding that take as long as one more batch


def row_outputs(model, rows, longest, batch_size, verbose="auto", callbacks=None):
    """Predicts rows of up to `longest` tokens, which a preprocessor read, by similar lengths.

    Returns:
        Arrays in the structure of the model's outputs, in the order of the rows. A token axis has
        `longest` places, with 0 past the end of a row.
    """
    strategy = getattr(model, "distribute_strategy", None)  # only TensorFlow's trainer has one
    is_one = strategy is None or strategy.num_replicas_in_sync == 1
    is_one = is_one and keras.distribution.distribution() is None
    predict = _one_by_one if is_one else _distributed
    lengths = np.asarray(rows.num_tokens())
    order = by_length(lengths)
    parts = predict(model, rows, longest, lengths, order, batch_size, verbose, callbacks)
    past_end = np.arange(longest) >= lengths[:, None]  # [N, S]
    reads_tokens = len(model.input["token_ids"].shape) == 2  # [B, C, S] for choices

    def joined(spec, *arrays):
        has_tokens = None in spec.shape[1:] and reads_tokens
        shape = arrays[0].shape[1:]
        shape = (past_end.shape[1], *shape[1:]) if has_tokens else shape
        outputs = np.zeros((len(lengths), *shape), arrays[0].dtype)
        for (numbers, _), array in zip(parts, arrays, strict=True):
            if has_tokens:
                outputs[numbers, : array.shape[1]] = array
            else:
                outputs[numbers] = array
        if has_tokens:
            outputs[past_end] = 0
        return outputs

    return keras.tree.map_structure(joined, model.output, *(outputs for _, outputs in parts))


def _one_by_one(model, rows, longest, lengths, order, batch_size, verbose, callbacks):
    """Predicts batches without `tf.data`, whose pipeline takes longer to build than few rows do."""
    batching = Batching().for_rows(longest)
    is_compiled = batching.pad_to != "longest"
    widths = lengths[order]
    if is_compiled:
        cuts = np.array([longest] if batching.pad_to == "full" else sorted(batching.pad_to))
        widths = cuts[np.searchsorted(cuts, widths)]
    ends = []
    for start in range(0, len(order), batch_size):
        ends += [start + end for end in _ends(widths[start : start + batch_size])]
    batches = np.split(order, ends[:-1])

    def make(numbers):
        if is_compiled:  # for few numbers of rows: XLA compiles a model again for each
            numbers = np.resize(numbers, min(batch_size, 1 << (len(numbers) - 1).bit_length()))
        return rows.batch(numbers, batching)[0]

    parts = [(functools.partial(make, numbers), len(numbers)) for numbers in batches]
    outputs = predict_each(model, parts, verbose, callbacks)
    return list(zip(batches, outputs, strict=False))  # a callback may have stopped it


def _ends(widths):
    """Returns where a batch of rows, the widest first, ends if it is split to save padding."""
    saved = (widths[0] - widths) * np.arange(len(widths), 0, -1)  # tokens, by the place of a cut
    cut = int(saved.argmax())
    if saved[cut] < _COST_OF_A_BATCH:
        return [len(widths)]
    return _ends(widths[:cut]) + [cut + end for end in _ends(widths[cut:])]


def _distributed(model, rows, longest, lengths, order, batch_size, verbose, callbacks):
    """Predicts batches of each width one after the other, which Keras distributes."""
    cuts = np.array(quarters(longest))
    width = cuts[np.searchsorted(cuts, lengths[order[::batch_size]])]
    width = np.repeat(width, batch_size)[: len(order)]
    parts = []
    for cut in np.unique(width)[::-1]:
        numbers = order[width == cut]
        batches = _batches_in_order(rows, numbers, int(cut), longest, batch_size)
        outputs = model.predict_batches(batches, verbose=verbose, callbacks=callbacks)
        parts.append((numbers, outputs))
    return parts


def _batches_in_order(rows, numbers, width, longest, batch_size):
    batching = Batching(batch_size, pad_to=(width,), drop_remainder=False).for_rows(longest)
    return Batches(
        order=lambda _: cut_rows(numbers, batching),
        make=lambda part: rows.batch(part, batching)[:1],
        batching=batching,
    )
