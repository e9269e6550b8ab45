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
    causal, mask = model.backbone.causal, model.preprocessor.tokenizer.mask_token_id
    distinct = [*{row.tobytes(): row for row in rows}.values()]
    found = {row.tobytes(): np.zeros(len(row) - 2) for row in distinct}

    def places():  # what the model predicts at once: a row, and the tokens in it
        for number in by_length([*map(len, distinct)]):
            row = distinct[number]
            every = np.arange(len(row) - 2)
            for part in [every] if causal else every[:, None]:
                yield row, part

    waiting = places()
    for longest in waiting:  # of those to come
        width = _padded(model, len(longest[1])) if causal else 1
        count = max(1, min(batch_size, _LOGITS_AT_ONCE // (width * model.backbone.vocabulary_size)))
        part = [longest, *itertools.islice(waiting, count - 1)]
        ids = [row.copy() for row, _ in part]
        positions, targets = np.zeros((2, len(part), width), "int32")
        for row, (_, own), position, target in zip(ids, part, positions, targets, strict=True):
            target[: len(own)] = row[own + 1]
            if causal:
                position[:] = np.arange(width)
            else:
                position[:] = own + 1
                row[own + 1] = mask
        values = _log_likelihoods(model, ids, positions, targets, count)
        for (row, own), value in zip(part, values, strict=True):
            found[row.tobytes()][own] = value[: len(own)]
    return [found[row.tobytes()] for row in rows]


def _log_likelihoods(model, rows, positions, targets, batch_size):
    """Returns the log-probabilities of target tokens at positions, float64 `[n, P]`.

    `batch_size` is at least n; compiled models get as many rows.
    """
    count, width = len(rows), _padded(model, max(map(len, rows)))
    lengths = np.array([len(row) for row in rows])
    inputs = {"token_ids": keras.utils.pad_sequences(rows, width, padding="post")}
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
