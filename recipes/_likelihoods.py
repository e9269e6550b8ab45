"""Log-likelihoods of the tokens of texts under a pre-trained model."""

import itertools

import keras
import numpy as np

from keras_bert.messages import shown
from keras_bert.models.row_outputs import by_length
from keras_bert.preprocessing.bert_preprocessor import preprocessor_of

_WIDTHS = 8  # rows are padded to a multiple of it, so few shapes are compiled


def score_texts(model, texts, batch_size=32):
    """Scores how probable texts are to a `BertPretrainer`, without any fine-tuning.

    The score is a pseudo-log-likelihood, the sum over the tokens, each masked in turn and given
    all others: a text of n tokens takes n rows. Models with different vocabularies are not
    comparable. Source: Salazar et al. 2020, section 2.

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
    scores = []
    for row, values in zip(rows, _token_likelihoods(model, rows, batch_size), strict=True):
        score = {
            "log_likelihood": float(values.sum()),
            "perplexity": float(np.exp(-values.mean())),
            "tokens": list(map(preprocessor.tokenizer.text_of, row[1:-1])),
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
    """Returns the log-likelihood of each token of each row, masked in turn.

    Equal rows are scored once, so that they tie exactly.
    """
    distinct = {row.tobytes(): row for row in rows}
    likelihoods = {key: np.zeros(len(row) - 2) for key, row in distinct.items()}
    predictions = _predictions([*distinct.values()])
    while batch := list(itertools.islice(predictions, batch_size)):
        values = _log_likelihoods(model, batch, batch_size)
        for (row, position), value in zip(batch, values, strict=True):
            likelihoods[row.tobytes()][position - 1] = value
    return [likelihoods[row.tobytes()] for row in rows]


def _predictions(rows):
    """Yields `(row, position)` of each token to predict; the longest rows first."""
    for index in by_length([len(row) for row in rows]):
        for position in range(1, len(rows[index]) - 1):
            yield rows[index], position


def _log_likelihoods(model, predictions, batch_size):
    """Returns the log-probabilities of the tokens at `(row, position)`, float64 `[n]`.

    `batch_size` is at least n; compiled models get as many rows.
    """
    rows, positions = zip(*predictions, strict=True)
    positions = np.array(positions, "int32")[:, None]  # [n, 1]
    lengths = np.array([*map(len, rows)])
    width = min(-(-lengths.max() // _WIDTHS) * _WIDTHS, model.backbone.max_sequence_length)
    token_ids = keras.utils.pad_sequences(rows, width, padding="post")  # [n, S]
    targets = np.take_along_axis(token_ids, positions, axis=1)
    np.put_along_axis(token_ids, positions, model.preprocessor.tokenizer.mask_token_id, axis=1)
    is_token = np.arange(width) < lengths[:, None]
    inputs = {
        "token_ids": token_ids,
        "padding_mask": is_token.astype("int32"),
        "mask_positions": positions,
    }
    if keras.backend.backend() != "tensorflow":
        for name, x in inputs.items():
            inputs[name] = np.resize(x, (batch_size, x.shape[1]))  # repeats rows
    logits = np.asarray(model.predict_on_batch(inputs)["masked_lm"])
    logits = logits[: len(rows), 0]  # [n, V]
    logits = logits - logits.max(axis=-1, keepdims=True)
    of_targets = np.take_along_axis(logits, targets, axis=-1)[:, 0]
    totals = np.exp(logits, out=logits).sum(axis=-1, dtype="float64")
    return of_targets - np.log(totals)
