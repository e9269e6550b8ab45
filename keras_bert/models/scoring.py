"""Log-likelihoods of the tokens of texts under a pre-trained model."""

import itertools

import keras
import numpy as np

from keras_bert.messages import check_int
from keras_bert.preprocessing.batches import by_length

_LOGITS_AT_ONCE = 2**26  # 256 MiB of float32
_WIDTHS = 8  # rows and predictions are padded to a multiple of it, so few shapes are compiled


def token_likelihoods(model, rows, batch_size):
    """Returns the log-likelihood of each token of each row.

    Equal rows are scored once, so that they tie exactly. A causal model predicts all tokens of a
    row at once; for others, one token at a time is masked.
    """
    check_int("batch_size", batch_size)
    causal = model.backbone.causal
    distinct = {row.tobytes(): row for row in rows}
    likelihoods = {key: np.zeros(len(row) - 2) for key, row in distinct.items()}
    for batch, width, size in _batches(model, [*distinct.values()], batch_size):
        ids = []
        columns = []  # of the vectors that predict
        targets = []
        for row, positions in batch:
            targets.append(row[positions])
            if causal:
                columns.append(positions - 1)
            else:
                columns.append(positions)
                row = row.copy()
                row[positions] = model.preprocessor.tokenizer.mask_token_id
            ids.append(row)
        columns = _with_padding(columns, width)
        targets = _with_padding(targets, width)
        values = _log_likelihoods(model, ids, columns, targets, size)
        for (row, positions), value in zip(batch, values, strict=True):
            likelihoods[row.tobytes()][positions - 1] = value[: len(positions)]
    return [likelihoods[row.tobytes()] for row in rows]


def _batches(model, rows, batch_size):
    """Yields `(predictions, width, size)`: at most `size` predictions, of `width` positions each.

    Batches become larger as rows become shorter, within the limit of logits.
    """
    causal = model.backbone.causal
    predictions = _predictions(rows, causal)
    for first in predictions:
        _, positions = first
        width = _padded(model, len(positions)) if causal else 1
        most = _LOGITS_AT_ONCE // (width * model.backbone.vocabulary_size)
        size = max(1, min(batch_size, most))
        others = itertools.islice(predictions, size - 1)  # takes them from the loop, too
        yield [first, *others], width, size


def _predictions(rows, causal):
    """Yields `(row, positions)` of tokens that are predicted at once; the longest rows first."""
    for index in by_length([len(row) for row in rows]):
        row = rows[index]
        positions = np.arange(1, len(row) - 1)
        if causal:
            yield row, positions
        else:
            for position in positions:
                yield row, position[None]


def _log_likelihoods(model, rows, columns, targets, batch_size):
    """Returns the log-probabilities of target tokens, float64 `[n, P]`.

    `batch_size` is at least n; compiled models get as many rows.
    """
    lengths = np.array([*map(len, rows)])
    width = _padded(model, lengths.max())
    is_token = np.arange(width) < lengths[:, None]
    inputs = {
        "token_ids": _with_padding(rows, width),
        "padding_mask": is_token.astype("int32"),
        "mask_positions": columns,
    }
    if keras.backend.backend() != "tensorflow":
        for name, x in inputs.items():
            inputs[name] = np.resize(x, (batch_size, x.shape[1]))  # repeats rows
    logits = np.asarray(model.predict_on_batch(inputs)["masked_lm"])
    logits = logits[: len(rows)]  # [n, P, V]
    logits = logits - logits.max(axis=-1, keepdims=True)
    of_targets = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    totals = np.exp(logits, out=logits).sum(axis=-1, dtype="float64")
    return of_targets - np.log(totals)


def _with_padding(rows, width):
    return keras.utils.pad_sequences(rows, width, padding="post")


def _padded(model, length):
    return min(-(-length // _WIDTHS) * _WIDTHS, model.backbone.max_sequence_length)
