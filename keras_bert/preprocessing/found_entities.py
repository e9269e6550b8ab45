"""Search for entities in the logits of words, in the TensorFlow graph. E entities."""

from collections.abc import Sequence

import tensorflow as tf

from keras_bert.metrics.entities import split_tag
from keras_bert.preprocessing.byte_spans import byte_spans, character_positions
from keras_bert.preprocessing.in_graph import in_graph
from keras_bert.preprocessing.text_words import TextWords


@in_graph
def found_entities(
    outputs: tf.Tensor, words: TextWords, label_names: Sequence[str]
) -> dict[str, tf.RaggedTensor | tf.Tensor]:
    """Finds the entities of texts by `conlleval`'s rules, from the logits of their words.

    Args:
        outputs: logits `[N, S, C]`, float, of the rows of `words`.
        words: `TextWords`.
        label_names: C strings, tags with or without prefixes.

    Returns:
        A dict of `num_entities`, int64 `[B]`, and of ragged tensors `[B, (E)]`:

        - `entity_text` and `entity_type`, strings;
        - `entity_start` and `entity_end`, int64, in characters of the text;
        - `entity_start_byte` and `entity_end_byte`, int64, in bytes of its UTF-8;
        - `entity_score`, float32, the mean probability of the tags of an entity's words.
    """
    texts = words.texts
    kinds, types, type_names = _tables(label_names)
    logits = tf.gather_nd(outputs, tf.stack([words.window, words.position], axis=1))  # [W, C]
    probabilities = tf.nn.softmax(logits)
    label = tf.argmax(probabilities, axis=-1)  # [W]
    score = tf.reduce_max(probabilities, axis=-1)
    kind, type_ = tf.gather(kinds, label), tf.gather(types, label)
    size = tf.size(label)
    same_text = tf.concat([[False], words.text[1:] == words.text[:-1]], axis=0)[:size]
    kind_before = tf.concat([["O"], kind[:-1]], axis=0)[:size]
    type_before = tf.concat([[-1], type_[:-1]], axis=0)[:size]
    is_in, ends_before = kind != "O", tf.reduce_any(kind_before[:, None] == ["O", "E", "S"], 1)
    is_single = tf.reduce_any(kind[:, None] == ["B", "S"], axis=1)
    begins = is_in & (~same_text | ends_before | is_single | (type_ != type_before))
    first = tf.where(begins)[:, 0]  # [E]
    member = tf.where(is_in)[:, 0]
    number = tf.gather(tf.cumsum(tf.cast(begins, tf.int64)) - 1, member)
    last = tf.math.segment_max(member, number)
    start_byte, end_byte = tf.gather(words.start, first), tf.gather(words.end, last)
    text = tf.gather(words.text, first)
    values = {
        "text": byte_spans(texts, text, start_byte, end_byte),
        "type": tf.gather(type_names, tf.gather(type_, first)),
        "start": character_positions(texts, text, start_byte),
        "end": character_positions(texts, text, end_byte),
        "start_byte": start_byte,
        "end_byte": end_byte,
        "score": tf.math.segment_mean(tf.gather(score, member), number),
    }
    rows = tf.size(texts, tf.int64)
    found = {
        f"entity_{name}": tf.RaggedTensor.from_value_rowids(value, text, nrows=rows, validate=False)
        for name, value in values.items()
    }
    return {**found, "num_entities": found["entity_score"].row_lengths()}


def _tables(label_names):
    """Returns `(kinds, types, type names)`: strings `[C]`, int32 `[C]`, strings."""
    parts = [split_tag(name) for name in label_names]
    type_names = sorted({type_ for _, type_ in parts})
    types = [type_names.index(type_) for _, type_ in parts]
    return tf.constant([kind for kind, _ in parts]), tf.constant(types), tf.constant(type_names)
