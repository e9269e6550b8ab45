"""Texts as a pre-trained model reads them: as a whole, some with [MASK]."""

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


def whole_texts(texts: Sequence[str], preprocessor: Any) -> list[np.ndarray]:
    """Tokenizes texts as `[CLS] text [SEP]`, without truncation."""
    texts = [as_str(f"Text {number}", text) for number, text in enumerate(texts)]
    tokenizer, longest = preprocessor.tokenizer, preprocessor.sequence_length
    rows = []
    for number, ids in enumerate(numpy_ops.from_row_lengths(*tokenizer.flat_ids(texts))):
        if not 0 < len(ids) <= longest - 2:
            size = "no token to score"
            if len(ids):
                size = f"{len(ids)} tokens, above the {longest - 2} of sequence_length={longest}"
            raise ValueError(f"Text {number} has {size}: {shown(texts[number])}.")
        row = [tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]
        rows.append(np.array(row, "int32"))
    return rows


def masked_inputs(
    texts: Sequence[str], preprocessor: Any
) -> tuple[dict[str, np.ndarray], list[int]]:
    """Tokenizes B texts with "[MASK]" as a masked token, at least one in each.

    Returns the inputs, `mask_positions` `[B, P]` among them, and the masked tokens of each text.
    """
    tokenizer, most = preprocessor.tokenizer, preprocessor.sequence_length - 1
    rows, counts = [], []
    for text in texts:
        # Like a token of RoBERTa's, a mask includes the space before it.
        parts = re.split(rf"\s*{re.escape(MASK)}", as_str("A text", text))
        if len(parts) == 1:
            raise ValueError(f"There is no [MASK] in {text!r}: write it in place of a word.")
        ids = numpy_ops.from_row_lengths(*tokenizer.flat_ids(parts))
        row = ids[:1]
        for part in ids[1:]:
            row += [[tokenizer.mask_token_id], part]
        rows.append(np.concatenate(row, dtype="int32"))
        counts.append(len(parts) - 1)
    tokens = Tokens.of(np.concatenate(rows), np.array([*map(len, rows)], "int64"), numpy_ops)
    [inputs] = TextRows(preprocessor.packer, (tokens,)).as_batch()
    positions = [np.flatnonzero(r == tokenizer.mask_token_id) for r in inputs["token_ids"]]
    for text, count, own in zip(texts, counts, positions, strict=True):
        if len(own) < count:
            raise ValueError(f"A text has a [MASK] beyond the {most} tokens read: {shown(text)}.")
    inputs["mask_positions"] = keras.utils.pad_sequences(positions, padding="post")
    return inputs, counts
