"""Tokenization of texts that must fit in a row as a whole, for a pre-trained model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_bert.preprocessing.text_examples import checked_text
from keras_bert.text.numpy_ops import ragged

if TYPE_CHECKING:
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor


def whole_texts(
    texts: Sequence[str], preprocessor: BertPreprocessor, kind: str = "Text"
) -> list[np.ndarray]:
    """Tokenizes texts as `[CLS] text [SEP]`, without truncation.

    Args:
        texts: list of str.
        preprocessor: a `BertPreprocessor`.
        kind: the texts' name in messages, before their number.

    Returns:
        A list of int32 arrays.

    Raises:
        ValueError: if a text is no str, has no token, or exceeds the sequence length.
    """
    texts = [checked_text(f"{kind} {number}", text) for number, text in enumerate(texts)]
    tokenizer, longest = preprocessor.tokenizer, preprocessor.sequence_length
    first, last = [tokenizer.cls_token_id], [tokenizer.sep_token_id]
    rows = []
    for number, ids in enumerate(ragged(*tokenizer.flat_ids(texts))):
        if not len(ids):
            raise ValueError(f"{kind} {number} has no token to score: {texts[number]!r}.")
        if len(ids) + 2 > longest:
            raise ValueError(
                f"{kind} {number} has {len(ids)} tokens, and the preprocessor reads at most "
                f"{longest - 2} (sequence_length={longest}): {texts[number][:60]!r}... Split the "
                "text, or load the model with a larger sequence_length."
            )
        rows.append(np.array([*first, *ids, *last], "int32"))
    return rows
