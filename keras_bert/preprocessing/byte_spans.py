"""Spans of texts in bytes and characters, in Python and in the TensorFlow graph."""

import tensorflow as tf


def byte_spans(texts: tf.Tensor, row: tf.Tensor, start: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
    """Cuts byte spans out of texts, in time and memory linear in the texts and the spans.

    Args:
        texts: string `[B]`.
        row: int64 `[n]`, the text of each span.
        start: int64 `[n]`, the first byte of each span.
        end: int64 `[n]`, the byte after each span.

    Returns:
        string `[n]`.
    """
    offset = tf.gather(_text_starts(texts), row)
    numbers = tf.ragged.range(start + offset, end + offset)
    characters = tf.strings.bytes_split(texts).flat_values
    parts = numbers.with_flat_values(tf.gather(characters, numbers.flat_values))
    return tf.strings.reduce_join(parts, axis=-1)


def character_positions(texts: tf.Tensor, row: tf.Tensor, byte: tf.Tensor) -> tf.Tensor:
    """Converts positions in bytes of UTF-8 to positions in characters.

    Args:
        texts: string `[B]`.
        row: int64 `[n]`, the text of each position.
        byte: int64 `[n]`, positions in bytes.

    Returns:
        int64 `[n]`.
    """
    data = tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8)
    is_character = tf.bitwise.bitwise_and(data, 0xC0) != 0x80  # otherwise a continuation byte
    before = tf.concat([[0], tf.cumsum(tf.cast(is_character, tf.int64))], axis=0)
    offset = tf.gather(_text_starts(texts), row)
    return tf.gather(before, byte + offset) - tf.gather(before, offset)


def _text_starts(texts):
    return tf.cumsum(tf.cast(tf.strings.length(texts), tf.int64), exclusive=True)


def to_bytes(text: str) -> bytes:
    """Encodes text as UTF-8, including lone surrogates, which JSON may contain."""
    return text.encode("utf-8", "surrogatepass")


def byte_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Converts a span of characters to the span of bytes in the text's UTF-8."""
    before = len(to_bytes(text[:start]))
    return before, before + len(to_bytes(text[start:end]))
