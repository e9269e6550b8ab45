"""`BertTokenizer` as TensorFlow ops."""

import functools
import operator

import tensorflow as tf

from keras_bert.graph.exact_wordpiece import ExactWordpiece
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.vocabulary import PAD


def graph_tokenizer(tokenizer: BertTokenizer) -> "GraphTokenizer":
    """Makes a tokenizer's graph, or returns the one of an equal tokenizer.

    Raises:
        ValueError: if a token of the vocabulary has more than 256 bytes.
    """
    tokens = tuple(tokenizer.get_vocabulary())
    return _shared(tokens, tokenizer.lowercase, tokenizer.max_word_characters)


class GraphTokenizer:
    """Tokenizes tensors of strings as `BertTokenizer` does, also in `tf.data` and in a SavedModel.

    A SavedModel that contains it loads with only tensorflow and tensorflow_text installed. It
    differs from `BertTokenizer` in two ways. Offsets are in bytes of UTF-8. And Unicode has 25
    marks that take part in canonical ordering and are not accents (Indic viramas, musical stems):
    if a text has two of them next to each other in the wrong order, they keep that order.

    Args:
        tokens: tuple of str, the vocabulary.
        lowercase: whether letters are lower-cased and stripped of their accents.
        max_word_characters: longer words become [UNK].

    Call arguments:
        text: strings of any shape, as a tensor, a `tf.RaggedTensor` or a list.

    Returns:
        int32 ids: a tensor `[T]` for one text, a `tf.RaggedTensor` `[B, (T)]` for `[B]` texts.
    """

    def __init__(self, tokens: tuple[str, ...], lowercase: bool, max_word_characters: int):
        with tf.init_scope(), tf.device("CPU:0"):
            self._graph = ExactWordpiece(list(tokens), lowercase, max_word_characters)
            self._token_strings = tf.constant(["" if t == PAD else t for t in tokens])

    def __call__(self, text: tf.Tensor | tf.RaggedTensor) -> tf.Tensor | tf.RaggedTensor:
        """Calls `tokenize`."""
        return self.tokenize(text)

    def tokenize(self, text: tf.Tensor | tf.RaggedTensor) -> tf.Tensor | tf.RaggedTensor:
        """Turns texts into ids."""
        return _map_flat(self._graph.ids, text)

    def tokenize_with_offsets(self, text: tf.Tensor | tf.RaggedTensor) -> tuple:
        """Turns texts into `(ids, starts, ends)`, offsets int64 in bytes of UTF-8."""
        return _map_flat(self._graph.ids_and_offsets, text)

    def detokenize(self, token_ids: tf.Tensor | tf.RaggedTensor) -> tf.Tensor | tf.RaggedTensor:
        """Joins int ids `[T]`, `[B, T]` or ragged `[B, (T)]` into strings, without [PAD]."""
        with tf.device("CPU:0"):
            tokens = tf.ragged.map_flat_values(
                lambda ids: tf.gather(self._token_strings, ids),  # [PAD] is ""
                token_ids,
            )
            joined = tf.strings.reduce_join(tokens, axis=-1, separator=" ")
            return tf.ragged.map_flat_values(_join_pieces, joined)


@functools.lru_cache(maxsize=4)
def _shared(tokens, lowercase, max_word_characters):
    return GraphTokenizer(tokens, lowercase, max_word_characters)


def _map_flat(function, text):
    """Applies a function of strings `[N]` to strings of any shape."""
    if not isinstance(text, (tf.RaggedTensor, tf.Tensor)):
        text = _to_strings(text)
    if text.dtype != tf.string:
        raise ValueError(f"expected strings, got {text.dtype.name} of shape {text.shape}")
    if text.shape.rank is None:
        raise ValueError("expected texts of known rank; set their shape with set_shape")
    with tf.device("CPU:0"):
        if text.shape.rank == 1:
            return function(text)
        if text.shape.rank == 0:
            result, restored = function(text[None]), operator.attrgetter("values")
        else:
            if isinstance(text, tf.Tensor):
                text = tf.RaggedTensor.from_tensor(text, ragged_rank=text.shape.rank - 1)
            text = text.with_row_splits_dtype(tf.int64)
            result, restored = function(text.flat_values), text.with_flat_values
        if isinstance(result, tf.RaggedTensor):
            return restored(result)
        return tuple(map(restored, result))


def _to_strings(text):
    try:
        return tf.convert_to_tensor(text, tf.string)
    except (TypeError, ValueError) as error:
        try:
            return tf.ragged.constant(text, tf.string)  # lists of different lengths
        except (TypeError, ValueError, AttributeError):
            raise ValueError(
                f"expected a text or texts, got {type(text).__name__}: {error}"
            ) from error


def _join_pieces(joined):
    joined = tf.strings.regex_replace(joined, " ##", "")
    return tf.strings.strip(tf.strings.regex_replace(joined, " +", " "))
