"""Texts with [MASK], tokenized whole for a pre-trained model."""

import re
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_bert.messages import shown
from keras_bert.preprocessing.text_rows import TextRows
from keras_bert.text import numpy_ops
from keras_bert.text.base_tokenizer import as_str
from keras_bert.text.tokens import Tokens
from keras_bert.text.vocabulary import MASK


def masked_inputs(
    texts: Sequence[str], preprocessor: Any
) -> tuple[dict[str, np.ndarray], list[int]]:
    """Tokenizes B texts in which "[MASK]" is a masked token; each text has at least one.

    Returns the inputs, with `mask_positions` `[B, P]`, and each text's number of masks.
    """
    tokenizer = preprocessor.tokenizer
    rows = [_with_masks(as_str("A text", text), tokenizer) for text in texts]
    lengths = np.array([len(row) for row in rows], "int64")
    tokens = Tokens.of(np.concatenate(rows), lengths, numpy_ops)
    [inputs] = TextRows(preprocessor.packer, (tokens,)).as_batch()
    positions = []
    counts = []
    for index, row in enumerate(rows):
        count = np.count_nonzero(row == tokenizer.mask_token_id)
        is_mask = inputs["token_ids"][index] == tokenizer.mask_token_id
        if np.count_nonzero(is_mask) < count:
            room = preprocessor.sequence_length - 2  # without [CLS] and [SEP]
            raise ValueError(
                f"A text has a [MASK] beyond the {room} tokens read: {shown(texts[index])}."
            )
        positions.append(np.flatnonzero(is_mask))
        counts.append(count)
    inputs["mask_positions"] = keras.utils.pad_sequences(positions, padding="post")
    return inputs, counts


def _ids_of_each(texts, tokenizer):
    ids, lengths = tokenizer.flat_ids(texts)
    return numpy_ops.from_row_lengths(ids, lengths)


def _with_masks(text, tokenizer):
    """Tokenizes a text with "[MASK]" as the masked token."""
    # Like a token of RoBERTa's, a mask includes the space before it.
    pieces = re.split(rf"\s*{re.escape(MASK)}", text)
    if len(pieces) == 1:
        raise ValueError(f"There is no [MASK] in {text!r}: write it in place of a word.")
    chunks = []
    for ids in _ids_of_each(pieces, tokenizer):
        chunks += [[tokenizer.mask_token_id], ids]
    return np.concatenate(chunks[1:], dtype="int32")  # no mask precedes the first piece
