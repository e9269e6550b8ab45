import tensorflow as tf

from keras_bert.preprocessing.byte_spans import byte_span, byte_spans, character_positions, to_bytes

TEXTS = ["aé漢😀\ud800b", "", "x\u00a0y"]


def test_spans_of_characters_and_of_bytes_are_the_same_text():
    spans = [
        (row, start, end)
        for row, text in enumerate(TEXTS)
        for start in range(len(text) + 1)
        for end in range(start, len(text) + 1)
    ]
    bytes_ = [byte_span(TEXTS[row], start, end) for row, start, end in spans]
    parts = [to_bytes(TEXTS[row])[a:b] for (row, _, _), (a, b) in zip(spans, bytes_, strict=True)]
    assert parts == [to_bytes(TEXTS[row][start:end]) for row, start, end in spans]
    texts = tf.constant([to_bytes(text) for text in TEXTS])
    row, start, end = (tf.constant(part, tf.int64) for part in zip(*spans, strict=True))
    first, last = (tf.constant(part, tf.int64) for part in zip(*bytes_, strict=True))
    assert byte_spans(texts, row, first, last).numpy().tolist() == parts
    assert tf.reduce_all(character_positions(texts, row, first) == start)
    assert tf.reduce_all(character_positions(texts, row, last) == end)
