"""Functions of TensorFlow's tensors under the names of `text/numpy_ops.py`."""

import functools

import tensorflow as tf

from keras_bert.text.basic_words import CJK, is_punctuation

arange = functools.partial(tf.range, dtype=tf.int64)
argmax = tf.argmax
array = tf.constant
cast = tf.cast
concat = tf.concat
cumsum = tf.cumsum
exp = tf.exp
log = tf.math.log
logsumexp = functools.partial(tf.reduce_logsumexp, axis=-1)
maximum = tf.maximum
minimum = tf.minimum
ragged = functools.partial(tf.RaggedTensor.from_row_lengths, validate=False)
repeat = tf.repeat
reshape = tf.reshape
segment_max = tf.math.unsorted_segment_max
segment_mean = tf.math.unsorted_segment_mean
segment_min = tf.math.unsorted_segment_min
segment_sum = tf.math.unsorted_segment_sum
sigmoid = tf.sigmoid
softmax = tf.nn.softmax
stack = tf.stack
strings = tf.constant
take = tf.gather
take_columns = functools.partial(tf.gather, axis=1)
take_each = functools.partial(tf.gather, batch_dims=1)


def cut(texts, rows, starts, ends):
    """Cuts spans of bytes out of texts, in time and memory linear in the texts and the spans."""
    offset = tf.gather(_text_starts(texts), rows)
    numbers = tf.ragged.range(starts + offset, ends + offset)
    characters = tf.strings.bytes_split(texts).flat_values
    parts = numbers.with_flat_values(tf.gather(characters, numbers.flat_values))
    return tf.strings.reduce_join(parts, axis=-1)


def flatnonzero(values):
    return tf.where(values)[:, 0]


def full(shape, value, dtype):
    return tf.fill(shape, tf.cast(value, dtype))


def in_blocks(function, count, size, kinds):
    """As in `numpy_ops`; `kinds` are the `(dtype, shape of a row)` of what `function` returns."""
    size = tf.clip_by_value(count, 1, size)

    def some(first):
        return function(tf.minimum(first + tf.range(size), count - 1))

    found = tf.map_fn(
        some,
        tf.range(0, count, size),
        fn_output_signature={
            name: tf.TensorSpec([None, *shape], dtype) for name, (dtype, shape) in kinds.items()
        },
        parallel_iterations=1,
    )
    return {
        name: tf.reshape(values, tf.concat([[-1], tf.shape(values)[2:]], axis=0))[:count]
        for name, values in found.items()
    }


def kinds_of_strings(values, kind):
    """As in `numpy_ops`, if marks are of one kind, Chinese characters of another, others of 0."""
    is_mark, is_character = (tf.strings.regex_full_match(values, each) for each in _patterns())
    mark, character = (tf.constant(kind(example), tf.int64) for example in (".", "\u4e2d"))
    return tf.where(is_mark, mark, tf.where(is_character, character, 0))


@functools.cache
def _patterns():
    """Returns patterns of marks and of Chinese characters, which RE2 has by another Unicode."""
    marks = [code for code in range(0x20000) if is_punctuation(chr(code))]  # none is above
    spans = ([(code, code) for code in marks], CJK)
    return ["[" + "".join(rf"\x{{{a:x}}}-\x{{{b:x}}}" for a, b in each) + "]+" for each in spans]


def located(texts, rows, starts, ends):
    data = tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8)
    is_character = tf.bitwise.bitwise_and(data, 0xC0) != 0x80  # otherwise a continuation byte
    before = tf.concat([[0], tf.cumsum(tf.cast(is_character, tf.int64))], axis=0)
    offset = tf.gather(_text_starts(texts), rows)

    def characters(bytes_):
        return tf.gather(before, bytes_ + offset) - tf.gather(before, offset)

    in_bytes = {"start_byte": starts, "end_byte": ends}
    return {"start": characters(starts), "end": characters(ends), **in_bytes}


def maximum_of(values):
    return tf.reduce_max(tf.concat([values, [0]], axis=0))


def nonzero(values):
    return tf.unstack(tf.where(values), axis=1)


def put(shape, places, values):
    rows = tf.stack([tf.cast(number, tf.int64) for number in shape])
    shape = tf.concat([rows, tf.shape(values, tf.int64)[1:]], axis=0)
    return tf.scatter_nd(tf.stack(places, axis=-1), values, shape)


def renumbered(numbers):
    return tf.reshape(tf.unique(tf.reshape(numbers, [-1])).idx, tf.shape(numbers))


def replaced(values, places, new):
    return tf.tensor_scatter_nd_update(values, places[:, None], new)


def row_sums(values):
    return tf.reduce_sum(tf.cast(values, tf.int64), axis=1)


def size(values):
    return tf.shape(values, tf.int64)[0]


def smallest_of(lengths, at_least):
    lengths = tf.constant(lengths, tf.int64)
    return tf.gather(lengths, tf.searchsorted(lengths, at_least[None])[0])


def take_at(values, rows, columns):
    return tf.gather_nd(values, tf.stack([rows, columns], axis=1))


def top_k(values, count):
    best, places = tf.math.top_k(values, count)
    return best, tf.cast(places, tf.int64)


def where(condition, first, second):
    dtype = first.dtype if tf.is_tensor(first) else second.dtype
    return tf.where(condition, *(tf.convert_to_tensor(x, dtype) for x in (first, second)))


def width(values):
    return tf.shape(values, tf.int64)[1]


def _text_starts(texts):
    return tf.cumsum(tf.cast(tf.strings.length(texts), tf.int64), exclusive=True)
