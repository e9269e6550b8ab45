"""Texts as a pre-trained model reads them: as a whole, some with [MASK]."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_bert.messages import shown
from keras_bert.text.base_tokenizer import as_str
from keras_bert.text.numpy_ops import ragged
from keras_bert.text.vocabulary import MASK


def whole_texts(texts: Sequence[str], preprocessor: Any, kind: str = "Text") -> list[np.ndarray]:
    """Tokenizes texts as `[CLS] text [SEP]`, without truncation; `kind` names them in messages."""
    texts = [as_str(f"{kind} {number}", text) for number, text in enumerate(texts)]
    tokenizer, longest = preprocessor.tokenizer, preprocessor.sequence_length
    first, last = [tokenizer.cls_token_id], [tokenizer.sep_token_id]
    rows = []
    for number, ids in enumerate(ragged(*tokenizer.flat_ids(texts))):
        if not 0 < len(ids) <= longest - 2:
            size = f"{len(ids)} tokens, above the {longest - 2} of sequence_length={longest}"
            size = size if len(ids) else "no token to score"
            raise ValueError(f"{kind} {number} has {size}: {shown(texts[number])}.")
        rows.append(np.array([*first, *ids, *last], "int32"))
    return rows


def masked_inputs(
    texts: Sequence[str], preprocessor: Any
) -> tuple[dict[str, np.ndarray], list[int]]:
    """Tokenizes B texts with "[MASK]" as a masked token, at least one in each.

    Returns the inputs, `mask_positions` `[B, P]` among them, and the masked tokens of each text.
    """
    tokenizer, longest = preprocessor.tokenizer, preprocessor.sequence_length
    rows = []
    for text in texts:
        parts = as_str("A text", text).split(MASK)
        if len(parts) == 1:
            raise ValueError(f"There is no [MASK] in {text!r}: write it in place of a word.")
        row = [tokenizer.cls_token_id]
        for ids in ragged(*tokenizer.flat_ids(parts)):
            row += [*ids, tokenizer.mask_token_id]
        row[-1] = tokenizer.sep_token_id
        if len(row) > longest:
            if tokenizer.mask_token_id in row[longest - 1 :]:
                raise ValueError(
                    f"A text has a [MASK] beyond the {longest - 1} tokens read: {shown(text)}."
                )
            row[longest - 1 :] = [tokenizer.sep_token_id]
        rows.append(np.array(row, "int32"))
    length = max(map(len, rows))
    positions = [np.flatnonzero(row == tokenizer.mask_token_id) for row in rows]
    padding_mask = np.stack([np.arange(length) < len(row) for row in rows])
    inputs = {
        "token_ids": keras.utils.pad_sequences(rows, padding="post", value=tokenizer.pad_token_id),
        "segment_ids": np.zeros((len(rows), length), "int32"),
        "padding_mask": padding_mask.astype("int32"),
        "mask_positions": keras.utils.pad_sequences(positions, padding="post"),
    }
    return inputs, [len(row) for row in positions]
