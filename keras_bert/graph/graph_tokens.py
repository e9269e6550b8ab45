"""Tokens of texts in the TensorFlow graph."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_bert.graph import graph_ops
from keras_bert.graph.tokenizer import graph_tokenizer
from keras_bert.text.tokens import TextTokens, Tokens


def graph_tokens(preprocessor: Any, texts: tf.Tensor) -> Tokens:
    """Tokenizes strings `[B]`, with the preprocessor's prompt."""
    if preprocessor.prompt:
        texts = tf.strings.join([preprocessor.prompt, texts])
    ids = graph_tokenizer(preprocessor.tokenizer).tokenize(texts)
    return Tokens.of(ids.flat_values, ids.row_lengths(), graph_ops)


def graph_text_tokens(preprocessor: Any, texts: tf.Tensor) -> TextTokens:
    """Tokenizes strings `[B]`, with the place of each token in bytes."""
    ids, starts, ends = graph_tokenizer(preprocessor.tokenizer).tokenize_with_offsets(texts)
    flat = (ragged.flat_values for ragged in (ids, starts, ends))
    return TextTokens.of(texts, *flat, ids.row_lengths(), graph_ops)
