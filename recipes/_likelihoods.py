"""Log-likelihoods of the tokens of texts under a pre-trained model."""

import itertools

import keras
import numpy as np

from keras_bert.messages import shown
from keras_bert.preprocessing.batches import by_length
from keras_bert.preprocessing.task_checks import preprocessor_of

_WIDTHS = 8  # rows and predictions are padded to a multiple of it, so few shapes are compiled


def score_texts(model, texts, batch_size=32):
    """Scores how probable texts are to a `BertPretrainer`, without any fine-tuning.

    A masked language model gives a pseudo-log-likelihood, the sum over the tokens, each masked
    in turn and given all others: a text of n tokens takes n rows. A causal model gives the
    log-likelihood, each token given those before it. The two are not comparable, nor are models
    with other vocabularies. Source: Salazar et al. 2020, section 2.

    Args:
        model: a `BertPretrainer` with a preprocessor.
        texts: list of str.
        batch_size: int, the number of rows that the model takes at once.

    Returns:
        A dict for each text:
            `log_likelihood`: float, the sum over the text's tokens, in nats;
            `perplexity`: float, e to the mean of their negatives;
            `tokens`: list of str;
            `token_log_likelihoods`: list of float.

    Raises:
        ValueError: if a text has no token or exceeds the preprocessor's `sequence_length`, or
            the model has no preprocessor.
    """
    preprocessor = preprocessor_of(model)
    rows = _whole_texts(texts, preprocessor)
    tokens = preprocessor.tokenizer.get_vocabulary()
    scores = []
    for row, values in zip(rows, _token_likelihoods(model, rows, batch_size), strict=True):
        score = {
            "log_likelihood": float(values.sum()),
            "perplexity": float(np.exp(-values.mean())),
            "tokens": [tokens[i] for i in row[1:-1]],
            "token_log_likelihoods": values.tolist(),
        }
        scores.append(score)
    return scores


def _whole_texts(texts, preprocessor):
    """Tokenizes texts as `[CLS] text [SEP]`, without truncation."""
    tokenizer = preprocessor.tokenizer
    room = preprocessor.sequence_length - 2  # without [CLS] and [SEP]
    rows = []
    for index, ids in enumerate(tokenizer(texts)):
        if len(ids) == 0:
            raise ValueError(f"Text {index} has no token to score: {shown(texts[index])}.")
        if len(ids) > room:
            raise ValueError(
                f"Text {index} has {len(ids)} tokens, above the {room} of sequence_length="
                f"{preprocessor.sequence_length}: {shown(texts[index])}."
            )
        row = [tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]
        rows.append(np.array(row, "int32"))
    return rows


def _token_likelihoods(model, rows, batch_size):
    """Returns the log-likelihood of each token of each row.

    Equal rows are scored once, so that they tie exactly. A causal model predicts all tokens of a
    row at once; for others, one token at a time is masked.
    """
    causal = model.backbone.causal
    distinct = {row.tobytes(): row for row in rows}
    likelihoods = {key: np.zeros(len(row) - 2) for key, row in distinct.items()}
    predictions = _predictions([*distinct.values()], causal)  # the longest first
    while batch := list(itertools.islice(predictions, batch_size)):
        width = _padded(model, len(batch[0][1])) if causal else 1
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
        values = _log_likelihoods(model, ids, columns, targets, batch_size)
        for (row, positions), value in zip(batch, values, strict=True):
            likelihoods[row.tobytes()][positions - 1] = value[: len(positions)]
    return [likelihoods[row.tobytes()] for row in rows]


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
