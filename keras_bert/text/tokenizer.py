"""BertTokenizer: Google's `tokenization.py` in the TensorFlow graph."""

import functools
import warnings

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text
from tensorflow_text.core.pybinds import pywrap_fast_wordpiece_tokenizer_model_builder

from keras_bert.text import normalization
from keras_bert.text.vocabulary import (
    CLS,
    MASK,
    PAD,
    SEP,
    UNK,
    read_vocabulary,
    write_vocabulary,
)

_MAX_TOKEN_BYTES = 256  # of tensorflow_text's trie
_MAX_CHARACTER_BYTES = 4  # of UTF-8


class BertTokenizer:
    """Turns texts into WordPiece ids, and back, as the original BERT does.

    Use it wherever a BERT meets text: in Python, in `tf.data`, in an exported SavedModel. It runs
    as TensorFlow ops only, and a SavedModel that holds it loads where only tensorflow and
    tensorflow_text are installed.

    Its tokens are those of `FullTokenizer` in google-research/bert `tokenization.py`. Text is
    cleaned of control characters, each CJK character is set apart, letters are lower-cased and
    stripped of accents if `lowercase`, words are split at spaces and punctuation, and each word is
    cut greedily into the longest pieces of the vocabulary. A word that cannot be cut, or has more
    than `max_word_characters` characters, becomes one [UNK]. A literal "[MASK]" in a text is three
    words. Bytes that are not UTF-8 are skipped. The Unicode version is that of the running Python.

    Args:
        vocabulary: path of a vocab.txt (UTF-8, a token a line), or a list of str. It must hold
            [PAD], [UNK], [CLS], [SEP] and [MASK], at any place.
        lowercase: `True` for uncased vocabularies, `False` for cased ones.
        max_word_characters: longer words become [UNK].

    Call arguments:
        text: str or bytes, or strings of any shape as a list, an array, a tensor or a
            `tf.RaggedTensor`.

    Returns:
        int32 ids: a tensor `[T]` for one text, a `tf.RaggedTensor` `[B, (T)]` for `[B]` texts.

    Raises:
        ValueError: if the vocabulary cannot be read or lacks a special token, or the texts are
            no strings.

    Example:
    >>> special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    >>> tokenizer = BertTokenizer(special + ["un", "##aff", "##able", "!"])
    >>> tokenizer(["Unaffable!", "what?"]).to_list()
    [[5, 6, 7, 8], [1, 1]]
    >>> tokenizer.detokenize([[5, 6, 7, 8]]).numpy()[0].decode()
    'unaffable !'
    """

    def __init__(self, vocabulary, lowercase=True, max_word_characters=200):
        if max_word_characters < 1:
            raise ValueError(f"max_word_characters must be at least 1, got {max_word_characters}")
        self._tokens = read_vocabulary(vocabulary)
        self._ids = {token: index for index, token in enumerate(self._tokens)}
        self.lowercase = bool(lowercase)
        self.max_word_characters = int(max_word_characters)
        self._warn_of_other_casing()
        self.pad_token_id = self._ids[PAD]
        self.unk_token_id = self._ids[UNK]
        self.cls_token_id = self._ids[CLS]
        self.sep_token_id = self._ids[SEP]
        self.mask_token_id = self._ids[MASK]
        with tf.init_scope(), tf.device("CPU:0"):
            self._make_ops()

    def __call__(self, text):
        """Same as `tokenize`."""
        return self.tokenize(text)

    def tokenize(self, text):
        """Turns texts into ids.

        Args:
            text: one text, or texts of any shape.

        Returns:
            int32 ids `[T]` of one text, else a `tf.RaggedTensor` with one more, ragged dimension.
        """
        return _map_flat(self._graph_of_ids, text)

    def tokenize_with_offsets(self, text):
        """Turns texts into ids and says where each token comes from.

        `text[start:end]` in bytes of UTF-8 is what became the token. Characters that normalization
        deletes (accents, soft hyphens, control characters) belong to the token before them, and
        a character that is cut into several tokens to all of them.

        Args:
            text: one text, or texts of any shape.

        Returns:
            `(ids, starts, ends)`, int32, int64 and int64, each of the shape of `tokenize(text)`.

        Example:
        >>> special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        >>> tokenizer = BertTokenizer(special + ["cafe", "##s"])
        >>> ids, starts, ends = tokenizer.tokenize_with_offsets("Two Caf\u00e9s")
        >>> starts.numpy().tolist(), ends.numpy().tolist()
        ([0, 4, 9], [3, 9, 10])
        """
        return _map_flat(self._graph_of_offsets, text)

    def detokenize(self, token_ids):
        """Joins tokens into text: words parted by spaces, pieces put together, [PAD] left out.

        Case, accents and the original spaces are not in the ids and do not come back.

        Args:
            token_ids: int ids, `[T]`, `[B, T]` or ragged `[B, (T)]`, of a list, array or tensor.

        Returns:
            string tensor without the last dimension.
        """
        if isinstance(token_ids, (list, tuple)):
            token_ids = tf.ragged.constant(token_ids, dtype=tf.int32)
        if not isinstance(token_ids, tf.RaggedTensor):
            token_ids = tf.convert_to_tensor(token_ids)
        if not token_ids.dtype.is_integer:
            raise ValueError(f"detokenize takes integer ids, got {token_ids.dtype.name}")
        with tf.device("CPU:0"):
            flat = token_ids.flat_values if isinstance(token_ids, tf.RaggedTensor) else token_ids
            tokens = tf.gather(self._token_strings, flat)  # [PAD] is ""
            if isinstance(token_ids, tf.RaggedTensor):
                tokens = token_ids.with_flat_values(tokens)
            joined = tf.strings.reduce_join(tokens, axis=-1, separator=" ")
            return tf.ragged.map_flat_values(_join_pieces, joined)

    def get_vocabulary(self):
        """Returns the tokens by id, as a list of str."""
        return list(self._tokens)

    def vocabulary_size(self):
        """Returns how many ids there are."""
        return len(self._tokens)

    def token_to_id(self, token):
        """Returns the id of a token of the vocabulary."""
        if token not in self._ids:
            raise ValueError(f"{token!r} is not one of the {len(self._tokens)} tokens")
        return self._ids[token]

    def id_to_token(self, id):
        """Returns the token that has an id."""
        if not 0 <= id < len(self._tokens):
            raise ValueError(f"id {id} is outside the vocabulary of {len(self._tokens)} tokens")
        return self._tokens[id]

    def save_vocabulary(self, path):
        """Writes the vocabulary to a file, a token a line."""
        write_vocabulary(path, self._tokens)

    def get_config(self):
        """Returns the arguments that make this tokenizer again, the vocabulary as a list."""
        return {
            "vocabulary": self.get_vocabulary(),
            "lowercase": self.lowercase,
            "max_word_characters": self.max_word_characters,
        }

    @classmethod
    def from_config(cls, config):
        """Makes a tokenizer from what `get_config` gave."""
        return cls(**config)

    def _warn_of_other_casing(self):
        words = [token for token in self._tokens if token.isascii() and not token.startswith("[")]
        lower = sum(token.islower() for token in words)
        upper = sum(token != token.lower() for token in words)
        if self.lowercase and upper > 20 and upper > 0.05 * lower:
            meant, reason = False, f"{upper} of its tokens hold capital letters"
        elif not self.lowercase and lower > 1000 and upper < 0.001 * lower:
            meant, reason = True, "its tokens hold no capital letters"
        else:
            return
        warnings.warn(
            f"lowercase={self.lowercase}, but {reason}: most words will be [UNK] or badly cut. "
            f"The vocabulary looks made for lowercase={meant}.",
            stacklevel=3,
        )

    def _make_ops(self):
        self._normalizer = tf_text.FastBertNormalizer(
            model_buffer=tf.constant(normalization.normalizer_model(self.lowercase))
        )
        tokens = self._reachable_tokens()
        limit = self.max_word_characters
        model = _wordpiece_model(tokens, limit)
        self._wordpiece_model = tf.constant(model)
        self._wordpiece = tf_text.FastWordpieceTokenizer(
            model_buffer=self._wordpiece_model, token_out_type=tf.int32
        )
        # The same for words of up to `limit` characters of four bytes: a few bytes differ.
        longer = _wordpiece_model(tokens, limit * _MAX_CHARACTER_BYTES)
        places = np.flatnonzero(model != longer)
        self._longer_places, self._longer_bytes = places[:, None], longer[places]
        self._token_strings = tf.constant(["" if t == PAD else t for t in self._tokens])

    def _reachable_tokens(self):
        """Returns the vocabulary with stand-ins for the tokens that no text can give."""
        changed = normalization.character_map(self.lowercase)
        unreachable = {*changed, " "} | ({normalization.SIGMA} if self.lowercase else set())
        images = {c: n for c, n in normalization.punctuation_map().items() if n[0] != " "}
        images = str.maketrans(images)
        tokens = []
        for index, token in enumerate(self._tokens):
            stand_in = f"{normalization.PLACEHOLDER}{index}"
            if self._ids[token] != index or not token:
                token = stand_in
            elif token != UNK and not unreachable.isdisjoint(token):
                token = stand_in
            elif len(token.removeprefix("##")) > self.max_word_characters:
                token = stand_in
            elif len(token.removeprefix("##").encode()) > _MAX_TOKEN_BYTES:
                raise ValueError(
                    f"token {index} of the vocabulary has {len(token.encode())} bytes, at most "
                    f"{_MAX_TOKEN_BYTES} can be: {token[:40]!r}..."
                )
            tokens.append(token.translate(images) if not token.isascii() else token)
        return tokens

    @functools.cached_property
    def _graph_of_ids(self):
        return _trace(self._flat_ids)

    @functools.cached_property
    def _graph_of_offsets(self):
        return _trace(self._flat_offsets)

    def _flat_ids(self, texts):
        ids, _, _, splits = self._pieces(self._normalizer.normalize(texts))
        return tf.RaggedTensor.from_row_splits(ids, splits, validate=False)

    def _flat_offsets(self, texts):
        normalized, sources = self._normalizer.normalize_with_offsets(texts)
        ids, starts, ends, splits = self._pieces(normalized)
        rows = tf.RaggedTensor.from_row_splits(ids, splits, validate=False).value_rowids()
        first = tf.gather(sources.row_starts(), rows)
        starts, ends = _sources(sources.flat_values, first + starts, first + ends)
        return tuple(
            tf.RaggedTensor.from_row_splits(values, splits, validate=False)
            for values in (ids, starts, ends)
        )

    def _pieces(self, texts):
        """Cuts normalized texts `[B]` into flat (ids, starts, ends, row_splits)."""
        pieces = self._fast_pieces(texts)
        # All that the fast way gets wrong, it answers with [UNK].
        has_unknown = tf.reduce_any(pieces[0] == self.unk_token_id)
        return tf.cond(has_unknown, lambda: self._mend(texts, pieces), lambda: pieces)

    def _fast_pieces(self, texts):
        ids, starts, ends = self._wordpiece.tokenize_with_offsets(texts)
        return ids.flat_values, starts.flat_values, ends.flat_values, ids.row_splits

    def _mend(self, texts, pieces):
        if self.lowercase:
            has_sigma = tf.strings.regex_full_match(texts, f"(?s).*{normalization.SIGMA}.*")
            texts, pieces = tf.cond(
                tf.reduce_any(has_sigma),
                lambda: self._mend_sigma(texts, has_sigma),
                lambda: (texts, pieces),
            )
        ids, starts, ends, _ = pieces
        is_long = (ids == self.unk_token_id) & (ends - starts > self.max_word_characters)
        return tf.cond(
            tf.reduce_any(is_long),
            lambda: self._mend_long_words(texts, pieces, is_long),
            lambda: pieces,
        )

    def _mend_sigma(self, texts, has_sigma):
        rows = tf.where(has_sigma)
        mended = tf.boolean_mask(texts, has_sigma)
        for pattern, rewrite in normalization.sigma_rewrites():
            mended = tf.strings.regex_replace(mended, pattern, rewrite)
        texts = tf.tensor_scatter_nd_update(texts, rows, mended)
        return texts, self._fast_pieces(texts)

    def _mend_long_words(self, texts, pieces, is_long):
        """Cuts the words that have more bytes than `max_word_characters`, but not more letters."""
        ids, starts, ends, splits = pieces
        rows = tf.RaggedTensor.from_row_splits(ids, splits, validate=False).value_rowids()
        at = tf.where(is_long)[:, 0]  # [W] of W long words
        word_starts, word_ends = tf.gather(starts, at), tf.gather(ends, at)
        words = tf.strings.substr(
            tf.gather(texts, tf.gather(rows, at)), word_starts, word_ends - word_starts
        )
        fits = tf.strings.length(words, "UTF8_CHAR") <= self.max_word_characters
        at, words = tf.boolean_mask(at, fits), tf.boolean_mask(words, fits)
        model = tf.tensor_scatter_nd_update(
            self._wordpiece_model, self._longer_places, self._longer_bytes
        )
        longer = tf_text.FastWordpieceTokenizer(model_buffer=model, token_out_type=tf.int32)
        new_ids, new_starts, new_ends = longer.tokenize_with_offsets(words)
        shift = tf.boolean_mask(word_starts, fits)[:, None]
        # Each token stays, or gives way to those of its word, which come after all in the pool.
        size = tf.size(ids, tf.int64)
        begin = tf.range(size)
        begin = tf.tensor_scatter_nd_update(begin, at[:, None], size + new_ids.row_starts())
        count = tf.tensor_scatter_nd_update(tf.ones_like(begin), at[:, None], new_ids.row_lengths())
        order = tf.ragged.range(begin, begin + count).flat_values
        pool = (
            (ids, new_ids.flat_values),
            (starts, (new_starts + shift).flat_values),
            (ends, (new_ends + shift).flat_values),
        )
        ids, starts, ends = (tf.gather(tf.concat(pair, 0), order) for pair in pool)
        splits = tf.gather(tf.concat([[0], tf.cumsum(count)], 0), splits)
        return ids, starts, ends, splits


def _wordpiece_model(tokens, max_bytes):
    # What the constructor of FastWordpieceTokenizer calls; that copies the bytes by way of a list.
    model = pywrap_fast_wordpiece_tokenizer_model_builder.build_fast_wordpiece_model(
        tokens, max_bytes, "##", UNK, False, False
    )
    return np.frombuffer(model, np.uint8)


def _trace(function):
    with tf.init_scope():
        signature = [tf.TensorSpec([None], tf.string)]
        return tf.function(function, input_signature=signature).get_concrete_function()


def _sources(sources, starts, ends):
    """Maps spans of normalized text to spans of the original.

    Args:
        sources: int64, for each byte of all normalized texts the place of the character that it
            comes from, and behind each text the original's length.
        starts: int64, where the spans start in `sources`.
        ends: int64, where they end.

    Returns:
        `(starts, ends)` in the originals.
    """
    source_starts, source_ends = tf.gather(sources, starts), tf.gather(sources, ends)
    last = tf.gather(sources, ends - 1)

    def next_greater():
        changes = tf.where(sources[1:] != sources[:-1])[:, 0] + 1
        return tf.gather(sources, tf.gather(changes, tf.searchsorted(changes, ends)))

    # A character that became several ends where the next one starts.
    inside = tf.reduce_any(last == source_ends)
    return source_starts, tf.cond(inside, next_greater, lambda: source_ends)


def _map_flat(function, text):
    """Applies a function of strings `[N]` to strings of any shape."""
    if not isinstance(text, (tf.RaggedTensor, tf.Tensor)):
        text = _to_strings(text)
    if text.dtype != tf.string:
        raise ValueError(f"expected strings, got {text.dtype.name} of shape {text.shape}")
    if text.shape.rank is None:
        raise ValueError("expected texts of known rank; give them a shape with set_shape")
    with tf.device("CPU:0"):
        if text.shape.rank == 0:
            result = function(text[None])
            if isinstance(result, tf.RaggedTensor):
                return result.values
            return tuple(ragged.values for ragged in result)
        if text.shape.rank == 1:
            return function(text)
        if isinstance(text, tf.Tensor):
            text = tf.RaggedTensor.from_tensor(text, ragged_rank=text.shape.rank - 1)
        text = text.with_row_splits_dtype(tf.int64)
        result = function(text.flat_values)
        if isinstance(result, tf.RaggedTensor):
            return text.with_flat_values(result)
        return tuple(text.with_flat_values(ragged) for ragged in result)


def _to_strings(text):
    try:
        return tf.convert_to_tensor(text, tf.string)
    except (TypeError, ValueError) as error:
        try:
            return tf.ragged.constant(text, tf.string)  # lists of several lengths
        except (TypeError, ValueError, AttributeError):
            raise ValueError(
                f"expected a text or texts, got {type(text).__name__}: {error}"
            ) from error


def _join_pieces(joined):
    joined = tf.strings.regex_replace(joined, " ##", "")
    return tf.strings.strip(tf.strings.regex_replace(joined, " +", " "))
