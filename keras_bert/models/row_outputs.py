"""Prediction of rows in memory with little padding. N rows, S sequence."""

import dataclasses
import functools

import keras
import numpy as np

from keras_bert.preprocessing.batches import Batches, by_length, cut_rows
from keras_bert.preprocessing.batching import Batching, octaves, quarters
from keras_bert.training.prediction import predict_each
from keras_bert.training.strategy import device_kind


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
    batching, sizes, cost = _shapes(longest, batch_size)
    widths = lengths[order]
    if batching.pad_to != "longest":
        cuts = np.array([longest] if batching.pad_to == "full" else sorted(batching.pad_to))
        widths = cuts[np.searchsorted(cuts, widths)]
    cut = _cut(widths, sizes, cost)
    batches = np.split(order, np.cumsum(cut)[:-1])

    def make(numbers, size):
        return rows.batch(np.resize(numbers, size), batching)[0]

    parts = [
        (functools.partial(make, numbers, size), len(numbers))
        for numbers, size in zip(batches, cut, strict=True)
    ]
    outputs = predict_each(model, parts, verbose, callbacks)
    return list(zip(batches, outputs, strict=False))  # a callback may have stopped it


def _shapes(longest, batch_size):
    """Returns the widths and the numbers of rows that batches may have, and a batch's cost.

    The cost is in tokens of padding that take as long as one more batch. XLA compiles a model again
    for each shape, so with XLA there are few.
    """
    batching = Batching().for_rows(longest)
    if batching.pad_to == "longest":
        return batching, range(1, batch_size + 1), 64
    if device_kind() == "CPU":
        batching = dataclasses.replace(batching, pad_to=octaves(longest, 4))
        return batching, octaves(batch_size, 2, least=1), 128
    cost = longest * batch_size if batching.pad_to == "full" else 1024
    return batching, octaves(batch_size, 1, least=1), cost


def _cut(widths, sizes, cost):
    """Cuts rows, the widest first, into batches of some of the `sizes` that take the least time.

    The time is that of all places and a cost for each batch. The last batch may have fewer rows
    than its size. Returns the sizes of the batches, in order.
    """
    sizes = np.array(sizes)
    number = len(widths)
    least, best = np.zeros(number + 1), np.zeros(number, "int64")  # from each row to the end
    for row in reversed(range(number)):
        ends = np.minimum(row + sizes, number)
        costs = sizes * widths[row] + least[ends]
        best[row] = sizes[costs.argmin()]
        least[row] = costs.min() + cost
    cut, row = [], 0
    while row < number:
        cut.append(int(best[row]))
        row += cut[-1]
    return cut


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
