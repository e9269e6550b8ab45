"""Prediction of rows in memory with little padding. N rows, S sequence."""

import functools

import keras
import numpy as np

from keras_bert.preprocessing.batches import Batches, cut_rows
from keras_bert.preprocessing.batching import Batching, octaves, quarters
from keras_bert.training.prediction import predict_each
from keras_bert.training.strategy import device_kind, is_distributed


def row_outputs(model, rows, longest, batch_size, **options):
    """Predicts rows of up to `longest` tokens, which a preprocessor read, by similar lengths.

    Options are `verbose` and `callbacks`.

    Returns:
        Arrays in the structure of the model's outputs, in the order of the rows. A token axis has
        length `longest`, with 0 past the end of a row.
    """
    predict = _distributed if is_distributed(model) else _one_by_one
    lengths = np.asarray(rows.num_tokens())
    order = by_length(lengths)
    sorted_lengths = lengths[order]
    batches, outputs = predict(model, rows, longest, order, sorted_lengths, batch_size, options)
    past_end = np.arange(longest) >= lengths[:, None]  # [N, S]

    def in_order(has_tokens, *arrays):
        shape = arrays[0].shape[1:]
        if has_tokens:
            shape = (longest, *shape[1:])
        joined = np.zeros((len(lengths), *shape), arrays[0].dtype)
        for numbers, array in zip(batches, arrays, strict=False):  # a callback may have stopped it
            if has_tokens:
                joined[numbers, : array.shape[1]] = array
            else:
                joined[numbers] = array
        if has_tokens:
            joined[past_end] = 0
        return joined

    return keras.tree.map_structure(in_order, have_tokens(model), *outputs)


def have_tokens(model):
    """Returns, in the structure of a model's outputs, which ones have an axis of tokens."""
    reads_tokens = len(model.input["token_ids"].shape) == 2  # [B, C, S] for choices
    return keras.tree.map_structure(
        lambda spec: reads_tokens and None in spec.shape[1:], model.output
    )


def _one_by_one(model, rows, longest, order, lengths, batch_size, options):
    """Predicts batches without `tf.data`, whose pipeline takes longer to build than few rows do.

    Returns:
        The row numbers of the batches, and the outputs of each batch, or of the first ones if a
        callback stopped the prediction.
    """
    batching, sizes, cost = _shapes(longest, batch_size)
    widths = lengths
    if batching.pad_to == "full":
        widths = np.full_like(lengths, longest)
    elif batching.pad_to != "longest":
        widths = _rounded_up(lengths, batching.pad_to)
    batch_sizes = _cut(widths, sizes, cost)
    batches = np.split(order, np.cumsum(batch_sizes)[:-1])

    def make_inputs(numbers):
        return rows.batch(numbers, batching)[0]

    to_predict = []
    for numbers, size in zip(batches, batch_sizes, strict=True):
        filled = np.resize(numbers, size)  # repeats rows of a last batch that has too few
        to_predict.append((functools.partial(make_inputs, filled), len(numbers)))
    return batches, predict_each(model, to_predict, **options)


def _rounded_up(lengths, widths):
    """Returns the smallest of some widths, in ascending order, that holds each length."""
    return np.array(widths)[np.searchsorted(widths, lengths)]


def _shapes(longest, batch_size):
    """Returns how to pad batches, the numbers of rows that they may have, and a batch's cost.

    The cost is in tokens of padding that take as long as one more batch. XLA compiles a model again
    for each shape, so with XLA there are few.
    """
    batching = Batching().for_rows(longest)
    if batching.pad_to == "longest":
        return batching, range(1, batch_size + 1), 64
    if device_kind() == "CPU":
        batching = Batching(pad_to=octaves(longest, 4)).for_rows(longest)
        return batching, octaves(batch_size, 2, least=1), 128
    sizes = octaves(batch_size, 1, least=1)
    cost = longest * batch_size if batching.pad_to == "full" else 1024
    return batching, sizes, cost


def _cut(widths, sizes, cost):
    """Cuts rows, the widest first, into batches of some of the `sizes` that take the least time.

    The time of a batch is its number of tokens, with padding, and `cost`. The last batch may have
    fewer rows than its size. Returns the sizes of the batches, in order.
    """
    sizes = np.array(sizes)
    num_rows = len(widths)
    best_sizes = np.zeros(num_rows, "int64")  # of a batch that begins with each row
    least_times = np.zeros(num_rows + 1)  # from each row to the end
    for row in reversed(range(num_rows)):
        ends = np.minimum(row + sizes, num_rows)
        times = cost + sizes * widths[row] + least_times[ends]
        best_sizes[row] = sizes[times.argmin()]
        least_times[row] = times.min()
    batch_sizes = []
    row = 0
    while row < num_rows:
        batch_sizes.append(int(best_sizes[row]))
        row += batch_sizes[-1]
    return batch_sizes


def _distributed(model, rows, longest, order, lengths, batch_size, options):
    """Predicts batches of each width one after the other, which Keras distributes.

    Returns the row numbers of each width, and their outputs.
    """
    widths = _rounded_up(lengths[::batch_size], quarters(longest))
    width_of_rows = np.repeat(widths, batch_size)[: len(order)]
    numbers_of_widths = []
    outputs = []
    for width in np.unique(widths)[::-1]:
        numbers = order[width_of_rows == width]
        batches = _batches_in_order(rows, numbers, int(width), longest, batch_size)
        outputs.append(model.predictor.inputs(batches, **options))
        numbers_of_widths.append(numbers)
    return numbers_of_widths, outputs


def _batches_in_order(rows, numbers, width, longest, batch_size):
    batching = Batching(batch_size, pad_to=(width,), drop_remainder=False).for_rows(longest)
    return Batches(
        order=lambda _: cut_rows(numbers, batching),
        make=lambda batch: rows.batch(batch, batching)[:1],
        batching=batching,
    )


def by_length(lengths):
    """Sorts row numbers by length, the longest first, so that neighbors need little padding."""
    return np.argsort(-np.asarray(lengths), kind="stable")
