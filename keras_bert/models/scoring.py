"""How probable the tokens of texts are to a pre-trained model."""

import itertools

import keras
import numpy as np

from keras_bert.messages import check_int
from keras_bert.preprocessing.batches import by_length

_LOGITS_AT_ONCE = 2**26  # 256 MiB of float32
_WIDTHS = 8  # rows and predictions are padded to a multiple of it: few shapes are compiled


def token_likelihoods(model, rows, batch_size):
    """Returns the log-likelihood of each token of each row.

    Equal rows are computed once, so that their scores are equal to the last bit: ties. A causal
    model predicts all tokens of a row at once, another one a token in turn, which is masked.
    """
    check_int("batch_size", batch_size)
    causal = model.backbone.causal
    distinct = {row.tobytes(): row for row in rows}
    likelihoods = {key: np.zeros(len(row) - 2) for key, row in distinct.items()}
    waiting = _predictions([*distinct.values()], causal)
    for longest in waiting:  # of those to come
        width = _padded(model, len(longest[1])) if causal else 1
        most = _LOGITS_AT_ONCE // (width * model.backbone.vocabulary_size)
        count = max(1, min(batch_size, most))
        batch = [longest, *itertools.islice(waiting, count - 1)]
        ids = []
        positions = []
        targets = []
        for row, tokens in batch:
            targets.append(row[tokens])
            if not causal:
                row = row.copy()
                row[tokens] = model.preprocessor.tokenizer.mask_token_id
            ids.append(row)
            positions.append(tokens - 1 if causal else tokens)
        positions = _with_padding(positions, width)
        targets = _with_padding(targets, width)
        values = _log_likelihoods(model, ids, positions, targets, count)
        for (row, tokens), value in zip(batch, values, strict=True):
            likelihoods[row.tobytes()][tokens - 1] = value[: len(tokens)]
    return [likelihoods[row.tobytes()] for row in rows]


def _predictions(rows, causal):
    """Yields a row and the positions of the tokens that are predicted at once; longest first."""
    for number in by_length([*map(len, rows)]):
        row = rows[number]
        tokens = np.arange(1, len(row) - 1)
        for together in [tokens] if causal else tokens[:, None]:
            yield row, together


def _log_likelihoods(model, rows, positions, targets, batch_size):
    """Returns the log-probabilities of target tokens at positions, float64 `[n, P]`.

    `batch_size` is at least n; compiled models get as many rows.
    """
    lengths = np.array([*map(len, rows)])
    width = _padded(model, lengths.max())
    is_token = np.arange(width) < lengths[:, None]
    inputs = {
        "token_ids": _with_padding(rows, width),
        "padding_mask": is_token.astype("int32"),
        "mask_positions": positions,
    }
    if keras.backend.backend() != "tensorflow":
        for name, x in inputs.items():
            inputs[name] = np.resize(x, (batch_size, x.shape[1]))
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
