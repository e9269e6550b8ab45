"""Functions of TensorFlow's tensors under the names of `text/numpy_ops.py`."""

import functools

import tensorflow as tf

from keras_bert.text.basic_words import CJK, character_ranges, is_punctuation

# Arrays

arange = functools.partial(tf.range, dtype=tf.int64)
array = tf.constant
cast = tf.cast
concat = tf.concat
from_row_lengths = functools.partial(tf.RaggedTensor.from_row_lengths, validate=False)
repeat = tf.repeat
reshape = tf.reshape
stack = tf.stack
strings = tf.constant


def full(shape, value, dtype):
    return tf.fill(shape, tf.cast(value, dtype))


def num_rows(values):
    return tf.shape(values, tf.int64)[0]


def num_columns(values):
    return tf.shape(values, tf.int64)[1]


def map_blocks(function, count, size, specs):
    """As in `numpy_ops`; `specs` are the `(dtype, shape of a row)` of what `function` returns."""
    size = tf.clip_by_value(count, 1, size)
    starts = tf.range(0, count, size)
    signature = {}
    for name, (dtype, shape) in specs.items():
        signature[name] = tf.TensorSpec([None, *shape], dtype)

    def block(start):
        return function(tf.minimum(start + tf.range(size), count - 1))

    blocks = tf.map_fn(block, starts, fn_output_signature=signature, parallel_iterations=1)

    def joined(values):
        shape = tf.concat([[-1], tf.shape(values)[2:]], axis=0)
        return tf.reshape(values, shape)[:count]

    return tf.nest.map_structure(joined, blocks)


# Elementwise

exp = tf.exp
log = tf.math.log
maximum = tf.maximum
minimum = tf.minimum
sigmoid = tf.sigmoid


def where(condition, first, second):
    dtype = first.dtype if tf.is_tensor(first) else second.dtype
    first = tf.convert_to_tensor(first, dtype)
    second = tf.convert_to_tensor(second, dtype)
    return tf.where(condition, first, second)


# Rows, and whole arrays

argmax = tf.argmax
cumsum = tf.cumsum
searchsorted = tf.searchsorted
logsumexp = functools.partial(tf.reduce_logsumexp, axis=-1)
softmax = tf.nn.softmax


def max_or_zero(values):
    return tf.reduce_max(tf.concat([values, [0]], axis=0))


def row_sums(values):
    return tf.reduce_sum(tf.cast(values, tf.int64), axis=-1)


def top_k(values, count):
    best, columns = tf.math.top_k(values, count)
    return best, tf.cast(columns, tf.int64)


# Indexing

take = tf.gather
take_along_axis = functools.partial(tf.gather, batch_dims=1)
take_columns = functools.partial(tf.gather, axis=1)


def flatnonzero(values):
    return tf.where(values)[:, 0]


def gather_nd(values, rows, columns):
    indices = tf.stack([rows, columns], axis=1)
    return tf.gather_nd(values, indices)


def scatter_update(values, indices, updates):
    return tf.tensor_scatter_nd_update(values, indices[:, None], updates)


def smallest_at_least(lengths, limit):
    lengths = tf.constant(lengths, tf.int64)
    index = tf.searchsorted(lengths, limit[None])[0]
    return tf.gather(lengths, index)


def unique_indices(values):
    _, indices = tf.unique(tf.reshape(values, [-1]))
    return tf.reshape(indices, tf.shape(values))


# Segments

segment_max = tf.math.unsorted_segment_max
segment_mean = tf.math.unsorted_segment_mean
segment_min = tf.math.unsorted_segment_min
segment_sum = tf.math.unsorted_segment_sum


# Strings


def classify_strings(values, kind):
    """As in `numpy_ops`, if `kind` is 0 but for punctuation and Chinese characters."""
    kinds = tf.zeros_like(values, tf.int64)
    for example, pattern in _patterns().items():
        is_kind = tf.strings.regex_full_match(values, pattern)
        value = tf.constant(kind(example), tf.int64)
        kinds = tf.where(is_kind, value, kinds)
    return kinds


@functools.cache
def _patterns():
    """Maps an example to the pattern of Chinese characters, and of punctuation.

    RE2's Unicode has others.
    """
    chinese = []
    for first, last in CJK:
        chinese += map(chr, range(first, last + 1))
    punctuation = filter(is_punctuation, map(chr, range(0x20000)))  # none is above
    return {
        "\u4e2d": f"[{character_ranges(chinese)}]+",
        ".": f"[{character_ranges(punctuation)}]+",
    }


def substrings(texts, rows, starts, ends):
    """Cuts spans of bytes out of texts, in time and memory linear in the texts and the spans."""
    begins = tf.gather(_text_begins(texts), rows)
    indices = tf.ragged.range(starts + begins, ends + begins)
    characters = tf.strings.bytes_split(texts).flat_values
    spans = indices.with_flat_values(tf.gather(characters, indices.flat_values))
    return tf.strings.reduce_join(spans, axis=-1)


def text_spans(texts, rows, starts, ends):
    data = tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8)
    is_character = tf.bitwise.bitwise_and(data, 0xC0) != 0x80  # otherwise a continuation byte
    is_character = tf.pad(tf.cast(is_character, tf.int64), [[1, 0]])
    num_before = tf.cumsum(is_character)
    begins = tf.gather(_text_begins(texts), rows)

    def characters(offsets):
        return tf.gather(num_before, offsets + begins) - tf.gather(num_before, begins)

    return {
        "start": characters(starts),
        "end": characters(ends),
        "start_byte": starts,
        "end_byte": ends,
    }


def _text_begins(texts):
    lengths = tf.cast(tf.strings.length(texts), tf.int64)
    return tf.cumsum(lengths, exclusive=True)
