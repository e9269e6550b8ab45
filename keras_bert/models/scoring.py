"""How probable the tokens of texts are to a pre-trained model."""

import keras
import numpy as np

from keras_bert.messages import check_int
from keras_bert.preprocessing.batches import by_length

_LOGITS_AT_ONCE = 2**26  # 256 MiB of float32
_WIDTHS = 8  # rows and predictions are padded to a multiple of it: few shapes are compiled


def token_likelihoods(model, rows, batch_size):
    """Returns the log-likelihood of each token of each row.

    Equal rows are computed once, so that their scores are equal to the last bit: ties.
    """
    check_int("batch_size", batch_size)
    distinct = {row.tobytes(): row for row in rows}
    compute = _next_words if model.backbone.causal else _masked_in_turn
    found = dict(zip(distinct, compute(model, [*distinct.values()], batch_size), strict=True))
    return [found[row.tobytes()] for row in rows]


def _masked_in_turn(model, rows, batch_size):
    found = [np.zeros(len(row) - 2) for row in rows]
    order = by_length([*map(len, rows)])
    places = [(number, place) for number in order for place in range(len(rows[number]) - 2)]
    for start in range(0, len(places), batch_size):
        part = places[start : start + batch_size]
        ids = [rows[number].copy() for number, _ in part]
        targets = np.array([row[place + 1] for row, (_, place) in zip(ids, part, strict=True)])
        for row, (_, place) in zip(ids, part, strict=True):
            row[place + 1] = model.preprocessor.tokenizer.mask_token_id
        positions = np.array([[place + 1] for _, place in part], "int32")
        values = _log_likelihoods(model, ids, positions, targets[:, None], batch_size)
        for (number, place), value in zip(part, values[:, 0], strict=True):
            found[number][place] = value
    return found


def _next_words(model, rows, batch_size):
    found, order = [None] * len(rows), by_length([*map(len, rows)])
    start = 0
    while start < len(order):
        width = _padded(model, len(rows[order[start]]) - 2)  # of the longest of those to come
        count = max(1, min(batch_size, _LOGITS_AT_ONCE // (width * model.backbone.vocabulary_size)))
        part = order[start : start + count]
        ids = [rows[number] for number in part]
        positions = np.tile(np.arange(width, dtype="int32"), (len(part), 1))
        targets = np.zeros_like(positions)
        for target, row in zip(targets, ids, strict=True):
            target[: len(row) - 2] = row[1:-1]
        values = _log_likelihoods(model, ids, positions, targets, count)
        for number, row, value in zip(part, ids, values, strict=True):
            found[number] = value[: len(row) - 2]
        start += count
    return found


def _log_likelihoods(model, rows, positions, targets, batch_size):
    """Returns the log-probabilities of target tokens at positions, float64 `[n, P]`.

    `batch_size` is at least n; compiled models get as many rows.
    """
    count, width = len(rows), _padded(model, max(map(len, rows)))
    lengths = np.array([len(row) for row in rows])
    inputs = {"token_ids": np.zeros((count, width), "int32")}
    for target, row in zip(inputs["token_ids"], rows, strict=True):
        target[: len(row)] = row
    inputs["padding_mask"] = (np.arange(width) < lengths[:, None]).astype("int32")
    inputs["mask_positions"] = positions
    if keras.backend.backend() != "tensorflow":
        inputs = {name: np.resize(x, (batch_size, x.shape[1])) for name, x in inputs.items()}
    logits = np.asarray(model.predict_on_batch(inputs)["masked_lm"])[:count]  # [n, P, V]
    logits = logits - logits.max(axis=-1, keepdims=True)
    likelihoods = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return likelihoods - np.log(np.exp(logits, out=logits).sum(axis=-1, dtype="float64"))


def _padded(model, length):
    return min(-(-length // _WIDTHS) * _WIDTHS, model.backbone.max_sequence_length)
