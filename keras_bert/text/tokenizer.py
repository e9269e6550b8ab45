"""`BertTokenizer`: Google's `tokenization.py` as TensorFlow ops."""

import functools
import os
import warnings
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_bert.arguments import check_bool, check_int
from keras_bert.text.exact_wordpiece import ExactWordpiece
from keras_bert.text.vocabulary import (
    CLS,
    MASK,
    PAD,
    SEP,
    UNK,
    SavedVocabulary,
    read_vocabulary,
    write_vocabulary,
)

ASSET = "vocab.txt"


class BertTokenizer:
    """WordPiece tokenizer that produces the original BERT's tokens.

    Use it in Python, in `tf.data` and in an exported SavedModel. It consists only of TensorFlow
    ops. A SavedModel that contains it loads with only tensorflow and tensorflow_text installed.

    It produces the same tokens as `FullTokenizer` in google-research/bert `tokenization.py`. It
    removes control characters and puts spaces around CJK characters. With `lowercase`, it
    lower-cases letters and strips accents. It splits words at spaces and punctuation, and cuts
    each word greedily into the longest pieces of the vocabulary. A word that can't be cut, or has
    more than `max_word_characters` characters, becomes one [UNK]. A literal "[MASK]" in a text is
    three words. Bytes that are not UTF-8 are skipped. The Unicode version is the running Python's;
    an exported SavedModel keeps it.

    One difference remains, with `lowercase`. Unicode has 25 marks that take part in canonical
    ordering and are not accents (Indic viramas, musical stems). If the vocabulary contains two of
    them, and a text has both next to each other in the wrong order, they keep that order.

    Args:
        vocabulary: path of a vocab.txt (UTF-8, one token per line), local or remote; or a list of
            str. It must hold [PAD], [UNK], [CLS], [SEP] and [MASK], in any order.
        lowercase: bool, `True` for uncased vocabularies, `False` for cased ones.
        max_word_characters: int; longer words become [UNK].

    Call arguments:
        text: str or bytes, or strings of any shape as a list, an array, a tensor or a
            `tf.RaggedTensor`.

    Returns:
        int32 ids: a tensor `[T]` for one text, a `tf.RaggedTensor` `[B, (T)]` for `[B]` texts.

    Raises:
        ValueError: if the vocabulary is invalid or lacks a special token, or if the texts are not
            strings.
        OSError: if the vocabulary can't be read.

    Example:
    >>> special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    >>> tokenizer = BertTokenizer(special + ["un", "##aff", "##able", "!"])
    >>> tokenizer
    BertTokenizer(9 tokens, lowercase=True)
    >>> tokenizer(["Unaffable!", "what?"]).to_list()
    [[5, 6, 7, 8], [1, 1]]
    >>> tokenizer.detokenize([[5, 6, 7, 8]]).numpy()[0].decode()
    'unaffable !'
    """

    def __init__(
        self,
        vocabulary: str | os.PathLike | Sequence[str],
        lowercase: bool = True,
        max_word_characters: int = 200,
    ):
        check_bool("lowercase", lowercase)
        check_int("max_word_characters", max_word_characters)
        self.lowercase = bool(lowercase)
        self.max_word_characters = int(max_word_characters)
        self._saved = vocabulary if isinstance(vocabulary, SavedVocabulary) else None
        if self._saved is None:
            self._set_vocabulary(read_vocabulary(vocabulary))
            self._warn_of_other_casing()

    def _set_vocabulary(self, tokens):
        self._tokens = tokens
        self._ids = {token: index for index, token in enumerate(tokens)}
        self.pad_token_id = self._ids[PAD]
        self.unk_token_id = self._ids[UNK]
        self.cls_token_id = self._ids[CLS]
        self.sep_token_id = self._ids[SEP]
        self.mask_token_id = self._ids[MASK]
        self._graph = _shared_graph(tuple(self._tokens), self.lowercase, self.max_word_characters)
        with tf.init_scope(), tf.device("CPU:0"):
            self._token_strings = tf.constant(["" if t == PAD else t for t in self._tokens])

    @classmethod
    def from_preset(
        cls, source: str | os.PathLike, lowercase: bool | None = None
    ) -> "BertTokenizer":
        """Loads the tokenizer of a preset or of published weights.

        Args:
            source: any source that `BertTask.from_preset` accepts, or a vocab.txt. From the Hugging
                Face hub, only the small files are downloaded.
            lowercase: bool; overrides the source's casing if it is missing or wrong.

        Raises:
            ValueError: if the source is unknown or has no vocabulary.

        Example:
        >>> import tempfile
        >>> from keras_bert import BertBackbone, BertEmbedder, BertEmbedderPreprocessor, sizes
        >>> tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "so"])
        >>> backbone = BertBackbone(vocabulary_size=6, **sizes.tiny)
        >>> model = BertEmbedder(backbone, preprocessor=BertEmbedderPreprocessor(tokenizer))
        >>> folder = tempfile.mkdtemp()
        >>> model.save_to_preset(folder)
        >>> BertTokenizer.from_preset(folder)
        BertTokenizer(6 tokens, lowercase=True)
        """
        from keras_bert.presets.preprocessors import load_tokenizer  # a higher room

        return load_tokenizer(source, lowercase)

    def __repr__(self):
        return f"BertTokenizer({self.vocabulary_size():,} tokens, lowercase={self.lowercase})"

    def __getattr__(self, name):  # Python asks for names that aren't set, so only before the tokens
        if name in _OF_THE_TOKENS and self.__dict__.get("_saved"):
            raise ValueError(
                f"The tokenizer's vocabulary of {self._saved.size} tokens isn't loaded: the config "
                f"of a .keras file doesn't hold it, its asset {ASSET} does. Load the whole file "
                "with keras.saving.load_model(path); if the asset is missing, give the model a "
                "preprocessor with BertTokenizer(vocabulary)."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __call__(self, text: Any) -> tf.Tensor | tf.RaggedTensor:
        """Calls `tokenize`."""
        return self.tokenize(text)

    def tokenize(self, text: Any) -> tf.Tensor | tf.RaggedTensor:
        """Turns texts into ids.

        Args:
            text: one text, or texts of any shape.

        Returns:
            int32 ids: `[T]` for one text, else a `tf.RaggedTensor` with an additional dimension.
        """
        return _map_flat(self._graph.ids, text)

    def tokenize_with_offsets(self, text: Any) -> tuple:
        """Turns texts into ids, with the byte span of each token in its text.

        A token comes from `text[start:end]`, in bytes of UTF-8. An accent belongs to the token of
        its letter. No token starts or ends with an invisible character that normalization deletes,
        such as a soft hyphen. A character that is cut into several tokens belongs to all of them.
        Hugging Face's offsets leave out an accent that is a character of its own (U+0301).

        Args:
            text: one text, or texts of any shape.

        Returns:
            `(ids, starts, ends)`, int32, int64 and int64, all with the shape of `tokenize(text)`.

        Example:
        >>> special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        >>> tokenizer = BertTokenizer(special + ["cafe", "##s"])
        >>> ids, starts, ends = tokenizer.tokenize_with_offsets("Two Caf\u00e9s")
        >>> starts.numpy().tolist(), ends.numpy().tolist()
        ([0, 4, 9], [3, 9, 10])
        """
        return _map_flat(self._graph.ids_and_offsets, text)

    def detokenize(self, token_ids: Any) -> tf.Tensor | tf.RaggedTensor:
        """Joins tokens into text: words separated by spaces, pieces joined, [PAD] dropped.

        Case, accents and the original spaces are lost, because ids don't record them.

        Args:
            token_ids: int ids `[T]`, `[B, T]` or ragged `[B, (T)]`, as a list, array or tensor.

        Returns:
            string tensor, without the last dimension of the ids.
        """
        token_ids = self._checked_ids(token_ids)
        with tf.device("CPU:0"):
            tokens = tf.ragged.map_flat_values(
                lambda ids: tf.gather(self._token_strings, ids),  # [PAD] is ""
                token_ids,
            )
            joined = tf.strings.reduce_join(tokens, axis=-1, separator=" ")
            return tf.ragged.map_flat_values(_join_pieces, joined)

    def get_vocabulary(self) -> list[str]:
        """Returns the tokens as a list of str, ordered by id."""
        return list(self._tokens)

    def vocabulary_size(self) -> int:
        """Returns the number of tokens."""
        return len(self._tokens) if self._saved is None else self._saved.size

    def token_to_id(self, token: str) -> int:
        """Returns the id of a token of the vocabulary."""
        if token not in self._ids:
            raise ValueError(f"{token!r} is not in the vocabulary of {len(self._tokens)} tokens")
        return self._ids[token]

    def id_to_token(self, id: int) -> str:
        """Returns the token with an id."""
        if not 0 <= id < len(self._tokens):
            raise ValueError(f"id {id} is outside the vocabulary of {len(self._tokens)} tokens")
        return self._tokens[id]

    def save_vocabulary(self, path: str | os.PathLike) -> None:
        """Writes the vocabulary to a file, local or remote, one token per line."""
        write_vocabulary(path, self._tokens)

    def save_assets(self, folder: str | os.PathLike) -> None:
        """Writes the vocabulary to `vocab.txt` in the assets of a `.keras` file."""
        self.save_vocabulary(os.path.join(folder, ASSET))

    def load_assets(self, folder: str | os.PathLike) -> None:
        """Reads the vocabulary from the assets of a `.keras` file, if its config doesn't hold it.

        Raises:
            ValueError: if the tokens aren't those that the config was saved with.
            OSError: if the file can't be read.
        """
        if self._saved is not None:
            tokens = read_vocabulary(os.path.join(folder, ASSET))
            self._saved.check(tokens)
            self._saved = None
            self._set_vocabulary(tokens)

    def get_config(self) -> dict:
        """Returns the constructor's arguments, with the vocabulary as a list."""
        vocabulary = self.get_vocabulary() if self._saved is None else self._saved.to_dict()
        return {
            "vocabulary": vocabulary,
            "lowercase": self.lowercase,
            "max_word_characters": self.max_word_characters,
        }

    @classmethod
    def from_config(cls, config: dict) -> "BertTokenizer":
        """Creates a tokenizer from the result of `get_config`, or from the config in a file.

        The config in a `.keras` file holds only the vocabulary's size and SHA-256. Keras then calls
        `load_assets`, which reads the tokens.

        Raises:
            ValueError: if the vocabulary is neither a list nor a size and SHA-256. A path in
                somebody else's file would read a file of this machine.
        """
        vocabulary = config.get("vocabulary")
        saved = SavedVocabulary.from_dict(vocabulary)
        if saved is None and not isinstance(vocabulary, (list, tuple)):
            raise ValueError(
                "The config of a BertTokenizer must hold its vocabulary as a list of str, or as "
                f"the size and sha256 of an asset; got {type(vocabulary).__name__}."
            )
        return cls(**{**config, "vocabulary": saved or vocabulary})

    def __reduce__(self):
        return self.from_config, (self.get_config(),)

    def _checked_ids(self, token_ids):
        if not isinstance(token_ids, (tf.RaggedTensor, tf.Tensor)):
            try:
                token_ids = tf.ragged.constant(token_ids, tf.int64)  # a tensor if rectangular
            except (OverflowError, TypeError, ValueError) as error:
                raise ValueError(f"detokenize takes integer ids: {error}") from error
        if not token_ids.dtype.is_integer or token_ids.shape.rank == 0:
            raise ValueError(
                "detokenize takes integer ids [T], [B, T] or ragged [B, (T)], got "
                f"{token_ids.dtype.name} of shape {token_ids.shape}"
            )
        flat = getattr(token_ids, "flat_values", token_ids)
        if tf.executing_eagerly() and tf.size(flat):
            low, high = int(tf.reduce_min(flat)), int(tf.reduce_max(flat))
            if low < 0 or high >= len(self._tokens):
                raise ValueError(
                    f"ids from {low} to {high} do not fit the vocabulary of {len(self._tokens)}"
                )
        return token_ids

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


_OF_THE_TOKENS = (
    "_tokens",
    "_ids",
    "_graph",
    "_token_strings",
    "pad_token_id",
    "unk_token_id",
    "cls_token_id",
    "sep_token_id",
    "mask_token_id",
)


@functools.lru_cache(maxsize=4)
def _shared_graph(tokens, lowercase, max_word_characters):
    """Returns the graph of a vocabulary, whose tables take long to build."""
    with tf.init_scope(), tf.device("CPU:0"):
        return ExactWordpiece(list(tokens), lowercase, max_word_characters)


def _map_flat(function, text):
    """Applies a function of strings `[N]` to strings of any shape."""
    if not isinstance(text, (tf.RaggedTensor, tf.Tensor)):
        text = _to_strings(text)
    if text.dtype != tf.string:
        raise ValueError(f"expected strings, got {text.dtype.name} of shape {text.shape}")
    if text.shape.rank is None:
        raise ValueError("expected texts of known rank; set their shape with set_shape")
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
            return tf.ragged.constant(text, tf.string)  # lists of different lengths
        except (TypeError, ValueError, AttributeError):
            raise ValueError(
                f"expected a text or texts, got {type(text).__name__}: {error}"
            ) from error


def _join_pieces(joined):
    joined = tf.strings.regex_replace(joined, " ##", "")
    return tf.strings.strip(tf.strings.regex_replace(joined, " +", " "))
