"""`BertTokenizer` as TensorFlow ops: TensorFlow Text's, corrected where they are wrong."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.graph import graph_ops, normalization
from keras_bert.graph.added_tokens import GraphAddedTokens
from keras_bert.graph.normalization import CASED, Casing
from keras_bert.graph.tensorflow_text import num_bytes, tf_text, wordpiece_builder
from keras_bert.text.base_tokenizer import Tokenizer
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokens import TextTokens, Tokens
from keras_bert.text.vocabulary import UNK

_MAX_TOKEN_BYTES = 256  # limit of tensorflow_text's trie
_MAX_CHARACTER_BYTES = 4  # in UTF-8


def graph_tokens(preprocessor: Any, texts: tf.Tensor) -> Tokens:
    """Tokenizes strings `[B]`, with the preprocessor's prompt."""
    if preprocessor.prompt:
        texts = tf.strings.join([preprocessor.prompt, texts])
    ids = graph_tokenizer(preprocessor.tokenizer).tokenize(texts)
    return Tokens.of(ids.values, ids.row_lengths(), graph_ops)


def graph_text_tokens(preprocessor: Any, texts: tf.Tensor) -> TextTokens:
    """Tokenizes strings `[B]`, with the place of each token in bytes."""
    ids, starts, ends = graph_tokenizer(preprocessor.tokenizer).tokenize_with_offsets(texts)
    lengths = ids.row_lengths()
    return TextTokens.of(texts, ids.values, starts.values, ends.values, lengths, graph_ops)


def graph_tokenizer(tokenizer: Tokenizer) -> "GraphTokenizer | GraphAddedTokens":
    """Makes a tokenizer's graph, or returns the one of an equal tokenizer.

    Raises a ValueError if it isn't a `BertTokenizer`.
    """
    if not isinstance(tokenizer, BertTokenizer):
        raise ValueError(
            f"TensorFlow has no ops for a {type(tokenizer).__name__}. Give a dataset of "
            "texts to fit or another verb of a task; a SavedModel takes the token ids of "
            "preprocessor(texts)."
        )
    tokens = tuple(tokenizer.get_vocabulary())
    casing = Casing(tokenizer.lowercase, tokenizer.lowercase and tokenizer.strip_accents)
    pieces = _built(tokens, casing, tokenizer.max_word_characters, tokenizer.strip_private_use)
    if tokenizer.added_tokens:
        return GraphAddedTokens(tokenizer.added_tokens, tokens, pieces)
    return pieces


@functools.lru_cache(maxsize=4)
def _built(*arguments):
    with tf.init_scope(), tf.device("CPU:0"):
        return GraphTokenizer(*arguments)


class GraphTokenizer:
    """Tokenizes tensors of strings as `BertTokenizer` does, also in `tf.data` and in a SavedModel.

    A SavedModel that contains it loads with only tensorflow and tensorflow_text installed. It
    differs from `BertTokenizer` in two ways. Offsets are in bytes of UTF-8. And Unicode has 25
    marks that take part in canonical ordering and are not accents (Indic viramas, musical stems):
    if a text has two of them next to each other in the wrong order, they keep that order.

    FastBertNormalizer normalizes with our table; FastWordpieceTokenizer splits and cuts words.
    These ops get two things wrong. `str.lower` turns a capital sigma into one of two letters,
    depending on its neighbors: the table keeps it and no token contains it, so its word becomes
    [UNK], and only a batch with an [UNK] is cut again. The ops also limit a word's bytes, not its
    characters: they cut words of four times as many bytes, and the longest are then made [UNK].
    """

    def __init__(
        self,
        tokens: Sequence[str],
        casing: Casing,
        max_word_characters: int,
        strip_private_use: bool = False,
    ):
        self.casing = casing
        self.max_word_characters = max_word_characters
        self.strip_private_use = strip_private_use
        self._continues = [token.startswith("##") for token in tokens]
        tokens = _reachable_tokens(tokens, casing, max_word_characters)
        self._unknown = tokens.index(UNK)
        self._normalizer = _normalizer(casing)
        self._visible = _normalizer(CASED)  # deletes invisible characters, and changes no others
        # FastWordpieceTokenizer's constructor calls this too, but copies the bytes through a list.
        model = wordpiece_builder.build_fast_wordpiece_model(
            tokens, max_word_characters * _MAX_CHARACTER_BYTES, "##", UNK, False, False
        )
        model = np.frombuffer(model, np.uint8)
        self._wordpiece = tf_text.FastWordpieceTokenizer(
            model_buffer=tf.constant(model), token_out_type=tf.int32
        )
        self._traced = functools.cache(_trace)

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Turns strings `[N]` into int32 ids `[N, (T)]`."""
        with tf.device("CPU:0"):
            return self._traced(self._ids)(texts)

    def tokenize_with_offsets(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
        """Turns strings `[N]` into int32 ids, int64 byte starts and ends, all `[N, (T)]`."""
        with tf.device("CPU:0"):
            return self._traced(self._ids_and_offsets)(texts)

    def _without_private_use(self, texts):
        """Replaces characters of private use by others, as long, that are deleted."""
        if not self.strip_private_use:
            return texts
        texts = tf.strings.regex_replace(texts, "[\ue000-\uf8ff]", "\ufeff")
        return tf.strings.regex_replace(texts, "[\U000f0000-\U0010ffff]", "\U000e0001")

    def _ids(self, texts):
        texts = self._without_private_use(texts)
        ids, _, _, splits = self._pieces(self._normalizer.normalize(texts))
        return _ragged(ids, splits)

    def _ids_and_offsets(self, texts):
        texts = self._without_private_use(texts)
        normalized, sources = self._normalizer.normalize_with_offsets(texts)
        ids, starts, ends, splits = self._pieces(normalized)
        rows = _ragged(ids, splits).value_rowids()
        first = tf.gather(sources.row_starts(), rows)
        starts, last, ends = _sources(sources.values, first + starts, first + ends)
        ends = self._visible_ends(texts, rows, last, ends)
        return _ragged(ids, splits), _ragged(starts, splits), _ragged(ends, splits)

    def _visible_ends(self, texts, rows, last, ends):
        """Moves the ends of tokens before the invisible characters that were deleted there.

        For T tokens, `rows` are their texts, `last` the bytes at which their last characters start,
        and `ends` those at which the next characters that aren't deleted start.
        """
        begins = tf.cumsum(num_bytes(texts) + 1, exclusive=True)
        joined = tf.strings.reduce_join(texts, separator="\0")
        data = tf.io.decode_raw(joined, tf.uint8)
        begin = tf.gather(begins, rows)
        last += begin  # in all texts together
        ends += begin

        def move():
            _, sources = self._visible.normalize_with_offsets(texts)
            sources = sources.values + tf.gather(begins, sources.value_rowids())
            before = tf.searchsorted(sources, ends, out_type=tf.int64) - 1
            last_visible = tf.gather(sources, before)
            return last_visible + _character_sizes(data, last_visible)

        is_followed = tf.reduce_any(last + _character_sizes(data, last) < ends)
        return tf.cond(is_followed, move, lambda: ends) - begin

    def _pieces(self, texts):
        """Cuts normalized texts `[B]` into flat (ids, starts, ends, row_splits)."""
        pieces = self._fast_pieces(texts)
        if self.casing.lowercase:
            texts, pieces = tf.cond(
                tf.reduce_any(pieces[0] == self._unknown),
                lambda: self._with_final_sigmas(texts, pieces),
                lambda: (texts, pieces),
            )
        return self._without_long_words(texts, pieces)

    def _fast_pieces(self, texts):
        ids, starts, ends = self._wordpiece.tokenize_with_offsets(texts)
        return ids.values, starts.values, ends.values, ids.row_splits

    def _with_final_sigmas(self, texts, pieces):
        has_sigma = tf.strings.regex_full_match(texts, f"(?s).*{normalization.SIGMA}.*")

        def lower():
            lowered = tf.boolean_mask(texts, has_sigma)
            for pattern, rewrite in normalization.sigma_rewrites(self.casing):
                lowered = tf.strings.regex_replace(lowered, pattern, rewrite)
            new_texts = tf.tensor_scatter_nd_update(texts, tf.where(has_sigma), lowered)
            return new_texts, self._fast_pieces(new_texts)

        return tf.cond(tf.reduce_any(has_sigma), lower, lambda: (texts, pieces))

    def _without_long_words(self, texts, pieces):
        """Replaces words of more than `max_word_characters`, which have more bytes, by [UNK]."""
        ids, starts, ends, splits = pieces
        is_first = ~tf.gather(self._continues, ids)  # of a word's pieces
        word = tf.cumsum(tf.cast(is_first, tf.int64)) - 1
        word_starts = tf.boolean_mask(starts, is_first)
        word_ends = tf.math.segment_max(ends, word)

        def replace():
            rows = _ragged(is_first, splits).value_rowids()
            texts_of_words = tf.gather(texts, tf.boolean_mask(rows, is_first))
            words = tf.strings.substr(texts_of_words, word_starts, word_sizes)
            too_long = tf.strings.length(words, "UTF8_CHAR") > self.max_word_characters
            is_long = tf.gather(too_long, word)
            new_ids = tf.where(is_long, self._unknown, ids)
            new_ends = tf.where(is_long, tf.gather(word_ends, word), ends)
            stays = is_first | ~is_long
            counts = tf.cumsum(tf.pad(tf.cast(stays, tf.int64), [[1, 0]]))
            return (
                tf.boolean_mask(new_ids, stays),
                tf.boolean_mask(starts, stays),
                tf.boolean_mask(new_ends, stays),
                tf.gather(counts, splits),
            )

        word_sizes = word_ends - word_starts
        has_long = tf.reduce_any(word_sizes > self.max_word_characters)
        return tf.cond(has_long, replace, lambda: pieces)


def _reachable_tokens(tokens, casing, max_word_characters):
    """Returns the vocabulary with placeholders for the tokens that no text can produce."""
    unreachable = {*normalization.character_map(casing), " "}
    if casing.lowercase:
        unreachable.add(normalization.SIGMA)
    written = {}
    for character, normal in normalization.punctuation_map().items():
        if normal[0] != " ":
            written[ord(character)] = normal
    ids = {token: index for index, token in enumerate(tokens)}
    reachable = []
    for index, token in enumerate(tokens):
        piece = token.removeprefix("##")
        is_repeated = ids[token] != index
        is_cut = len(piece) > max_word_characters or not unreachable.isdisjoint(token)
        if is_repeated or (is_cut and token != UNK):
            token = ""
        elif token != UNK and len(piece.encode()) > _MAX_TOKEN_BYTES:
            raise ValueError(
                f"token {index} of the vocabulary has {len(piece.encode())} bytes, more than the "
                f"limit of {_MAX_TOKEN_BYTES}: {token[:40]!r}..."
            )
        reachable.append(token.translate(written) or f"{normalization.PLACEHOLDER}{index}")
    return [*reachable, normalization.PLACEHOLDER]  # an empty trie can't be built


def _normalizer(casing):
    model = tf.constant(normalization.normalizer_model(casing))
    return tf_text.FastBertNormalizer(model_buffer=model)


def _ragged(values, splits):
    return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


def _trace(function):
    with tf.init_scope():
        traced = tf.function(function, autograph=False)
        return traced.get_concrete_function(tf.TensorSpec([None], tf.string))


def _sources(sources, starts, ends):
    """Maps spans of normalized text to spans of the original.

    `sources` are, for each byte of all normalized texts, the place of the character that it comes
    from; after each text, the length of the original. `starts` and `ends` are places in them.
    Returns where the first character, the last one and the next one start in the originals.
    """
    source_starts = tf.gather(sources, starts)
    source_ends = tf.gather(sources, ends)
    last = tf.gather(sources, ends - 1)

    def next_greater():
        is_changed = sources[1:] != sources[:-1]
        changes = 1 + tf.where(is_changed)[:, 0]
        following = tf.searchsorted(changes, ends)
        return tf.gather(sources, tf.gather(changes, following))

    # A character that became several characters ends where the next one starts.
    inside = tf.reduce_any(last == source_ends)
    return source_starts, last, tf.cond(inside, next_greater, lambda: source_ends)


def _character_sizes(data, places):
    leads = tf.constant([0xC0, 0xE0, 0xF0], tf.uint8)
    is_longer = tf.gather(data, places)[:, None] >= leads
    return 1 + tf.math.count_nonzero(is_longer, axis=1)
