"""Rows whose words `explain` weighs. S sequence, W words, T tokens of a text, C classes."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert.preprocessing.text_words import word_starts
from keras_bert.text.tokens import SegmentPacker, TextTokens, Tokens


@dataclasses.dataclass
class ExplainedRow:
    """A row, its words, and the number that is explained.

    Attributes:
        inputs: a dict of the model's inputs, `[1, S]`.
        words: a dict of `word_text`, `word_column`, `word_start` and `word_end`, `[W]` each.
        word: int64 `[S]`, the word of each position; -1 at special tokens.
        target: what is explained, such as the name of a class.
        value: a function from the model's outputs for B rows to `[B]` numbers.
    """

    inputs: dict[str, Any]
    words: dict[str, np.ndarray]
    word: np.ndarray
    target: Any = None
    value: Callable[[Any], Any] = lambda outputs: outputs[:, 0]


def explained_row(
    packer: SegmentPacker,
    texts: Sequence[TextTokens],
    tokens: Sequence[Tokens] | None = None,
    **options: Any,
) -> ExplainedRow:
    """Packs a text or two, or those of their `tokens` that a window holds."""
    tokens = [each.tokens for each in texts] if tokens is None else tokens
    first_number = packer.tokenizer.vocabulary_size()  # numbers words above all ids
    words, numbered = [], []
    for column, (text, part) in enumerate(zip(texts, tokens, strict=True)):
        is_first = word_starts(text, packer.tokenizer)  # [T]
        numbers = first_number + len(words) - 1 + np.cumsum(is_first)
        numbered.append(dataclasses.replace(part, values=np.append(numbers, 0)))
        first = np.flatnonzero(is_first)
        starts, ends = text.starts[first], text.ends[np.append(first[1:], is_first.size) - 1]
        words += [(text.texts[0][s:e], column, s, e) for s, e in zip(starts, ends, strict=False)]
    numbers = packer(*numbered, width=packer.lengths(*tokens)[0])["token_ids"][0]
    is_word = numbers >= first_number
    word = np.full(numbers.shape, -1)
    seen, word[is_word] = np.unique(numbers[is_word] - first_number, return_inverse=True)
    columns = zip(*(words[number] for number in seen), strict=True) if seen.size else [()] * 4
    names = ("word_text", "word_column", "word_start", "word_end")
    return ExplainedRow(
        packer(*tokens, width=numbers.size),
        {name: np.array(values) for name, values in zip(names, columns, strict=True)},
        word,
        **options,
    )


def log_odds(logits: Any, number: int) -> Any:
    """Computes log(p / (1 - p)) of the probability p of a class, `[B]`, from logits `[B, C]`."""
    others = keras.ops.concatenate([logits[:, :number], logits[:, number + 1 :]], axis=-1)
    return logits[:, number] - keras.ops.logsumexp(others, axis=-1)
