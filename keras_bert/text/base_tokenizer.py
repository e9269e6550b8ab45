"""`Tokenizer`: the contract between tokenizers and what reads texts with them."""

import base64
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Self

import numpy as np

from keras_bert.files.whole import whole_file
from keras_bert.messages import check_int, check_one_of, shown
from keras_bert.text.numpy_ops import from_row_lengths
from keras_bert.text.vocabulary import SavedVocabulary
from keras_bert.text.wordpieces import byte_offsets

_ROLES = ("pad", "unk", "cls", "sep", "mask")
_SET_WITH_THE_TOKENS = re.compile("_tokens|_ids|_pieces|_data|_cutter|.*_token_id")


class Tokenizer:
    """Base class of tokenizers: turns texts into ids, with the place of each token.

    A subclass defines `asset`, `special` and the methods that raise a NotImplementedError.

    Attributes:
        asset: str, the file of the vocabulary in presets and `.keras` files.
        setting_names: list of str, the constructor's arguments without the vocabulary; attributes.
        special: list of str, the tokens for padding, unknown words, [CLS], [SEP] and [MASK].
        pad_token_id, unk_token_id, cls_token_id, sep_token_id, mask_token_id: int, their ids.
        num_separators: int, the [SEP] tokens between the texts of a pair. With one, the second text
            is segment 1. Two replace segments, which are all 0.
        splits_at_spaces: bool, whether the tokens before a space don't depend on what follows.
        has_graph: bool, whether TensorFlow has ops for it, for `tf.data` and SavedModels.
    """

    asset: str
    setting_names: Sequence[str]
    special: Sequence[str]
    num_separators = 1
    splits_at_spaces = False
    has_graph = True

    def __init__(self, vocabulary: Any):
        self._saved = vocabulary if isinstance(vocabulary, SavedVocabulary) else None
        if self._saved is None:
            self._set_tokens(vocabulary)

    def read(self, vocabulary: Any) -> list[str]:
        """Reads a vocabulary, its contents or a path, and returns its tokens ordered by id."""
        raise NotImplementedError

    def contents(self) -> Any:
        """Returns the vocabulary that the constructor takes: a list or bytes."""
        raise NotImplementedError

    def flat_ids(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Turns a list of N str into one array of ids, the fastest form.

        Returns:
            `(ids, lengths)`: int32 `[T]`, the ids of all T tokens in the order of the texts; and
            int64 `[N]`, the number of tokens of each text.
        """
        raise NotImplementedError

    def flat_ids_with_offsets(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        """Turns a list of N str into arrays of ids and their offsets in characters.

        Returns:
            `(ids, starts, ends, lengths)`: int32 and twice int64 `[T]`, as `flat_ids` and
            `tokenize_with_offsets` describe them; and int64 `[N]`, the tokens of each text.
        """
        raise NotImplementedError

    def join(self, tokens: Sequence[str]) -> str:
        """Joins tokens into a text."""
        raise NotImplementedError

    def ids_of_words(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Turns words from within a text into ids, as `flat_ids` turns texts."""
        return self.flat_ids(words)

    def words(self) -> list[str]:
        """Returns the text of each token, without a mark of the beginning of a word."""
        return self.get_vocabulary()

    def settings(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without the vocabulary."""
        return {name: getattr(self, name) for name in self.setting_names}

    def _set_tokens(self, vocabulary):
        self._tokens = self.read(vocabulary)
        self._ids = {token: index for index, token in enumerate(self._tokens)}
        for role, token in zip(_ROLES, self.special, strict=True):
            setattr(self, f"{role}_token_id", self._ids[token])

    def __getattr__(self, name):  # Python calls it for attributes that aren't set
        if _SET_WITH_THE_TOKENS.fullmatch(name) and self.__dict__.get("_saved"):
            raise ValueError(
                f"The tokenizer's vocabulary of {self._saved.size} tokens isn't loaded: it is the "
                f"asset {self.asset} of a .keras file. Load it with keras.saving.load_model(path)."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self):
        name, value = next(iter(self.settings().items()))
        size = self.vocabulary_size()
        return f"{type(self).__name__}({size:,} tokens, {name}={value!r})"

    def __call__(self, text: Any) -> list:
        """Calls `tokenize`."""
        return self.tokenize(text)

    def tokenize(self, text: Any) -> list:
        """Turns a text into a list of int ids, or texts of any shape into nested lists."""
        texts, positions = _flattened(text)
        ids, lengths = self.flat_ids(texts)
        return _restored(positions, from_row_lengths(ids.tolist(), lengths))

    def tokenize_with_offsets(self, text: Any, unit: str = "characters") -> tuple:
        """Turns texts into ids, with the span of each token in its text.

        A token comes from `text[start:end]`, in characters or in `unit="bytes"` of UTF-8. An accent
        belongs to the token of its letter. No token starts or ends with a space or an invisible
        character that normalization deletes, such as a soft hyphen. A character that becomes
        several tokens belongs to all of them.

        Returns:
            `(ids, starts, ends)`, each like the result of `tokenize(text)`.

        Example:
        >>> from keras_bert import BertTokenizer
        >>> special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        >>> tokenizer = BertTokenizer(special + ["cafe", "##s"])
        >>> tokenizer.tokenize_with_offsets("Two Caf\u00e9s")
        ([1, 5, 6], [0, 4, 8], [3, 8, 9])
        >>> tokenizer.tokenize_with_offsets("Two Caf\u00e9s", unit="bytes")
        ([1, 5, 6], [0, 4, 9], [3, 9, 10])
        """
        check_one_of("unit", unit, ("characters", "bytes"))
        texts, positions = _flattened(text)
        ids, starts, ends, lengths = self.flat_ids_with_offsets(texts)
        if unit == "bytes":
            offsets = byte_offsets("".join(texts))
            begins = text_begins(texts, lengths)
            starts = offsets[begins + starts] - offsets[begins]
            ends = offsets[begins + ends] - offsets[begins]
        restored = []
        for values in (ids, starts, ends):
            rows = from_row_lengths(values.tolist(), lengths)
            restored.append(_restored(positions, rows))
        return tuple(restored)

    def detokenize(self, token_ids: Any) -> str | list:
        """Joins int ids `[T]`, or rows of them, into a str, or nested lists of str.

        Pieces of words are joined and padding is dropped. What normalization changed is lost.
        """
        ids = _as_lists(token_ids)
        if not isinstance(ids, list):
            raise ValueError(f"detokenize takes ids [T] or rows of them; got {ids!r}.")
        if any(isinstance(row, list) for row in ids):
            return [self.detokenize(row) for row in ids]
        return self.join([self.id_to_token(index) for index in ids if index != self.pad_token_id])

    def get_vocabulary(self) -> list[str]:
        """Returns the tokens as a list of str, ordered by id."""
        return list(self._tokens)

    def vocabulary_size(self) -> int:
        """Returns the number of tokens."""
        if self._saved:
            return self._saved.size
        return len(self._tokens)

    def token_to_id(self, token: str) -> int:
        """Returns the id of a token of the vocabulary."""
        if token not in self._ids:
            raise ValueError(f"{token!r} is not in the vocabulary of {len(self._tokens)} tokens")
        return self._ids[token]

    def id_to_token(self, id: int) -> str:
        """Returns the token with an id."""
        check_int("id", id, 0, len(self._tokens) - 1)
        return self._tokens[id]

    def text_of(self, id: int) -> str:
        """Returns the text of the token with an id: " été" of the byte pairs "ĠÃ©tÃ©"."""
        return self.join([self.id_to_token(id)])

    def save_vocabulary(self, path: str | os.PathLike) -> None:
        """Writes the vocabulary to a file, local or remote."""
        contents = self.contents()
        if isinstance(contents, list):
            contents = "".join(f"{token}\n" for token in contents)
        with whole_file(path, "wb" if isinstance(contents, bytes) else "w") as file:
            file.write(contents)

    def save_assets(self, folder: str | os.PathLike) -> None:
        """Writes the vocabulary to the assets of a `.keras` file."""
        self.save_vocabulary(os.path.join(folder, self.asset))

    def load_assets(self, folder: str | os.PathLike) -> None:
        """Reads the vocabulary from the assets of a `.keras` file, if its config doesn't hold it.

        Raises:
            ValueError: if the tokens aren't those that the config was saved with.
        """
        if saved := self._saved:
            self._set_tokens(os.path.join(folder, self.asset))
            saved.check(self._tokens)
            self._saved = None

    def get_config(self) -> dict:
        """Returns the constructor's arguments, with the contents of the vocabulary."""
        if self._saved:
            vocabulary = self._saved.to_dict()
        else:
            vocabulary = self.contents()
        if isinstance(vocabulary, bytes):
            vocabulary = base64.b64encode(vocabulary).decode()
        return {"vocabulary": vocabulary, **self.settings()}

    @classmethod
    def from_config(cls, config: dict) -> Self:
        """Creates a tokenizer from the result of `get_config`, or from the config in a file.

        A `.keras` file's config holds only the vocabulary's size and SHA-256; Keras then calls
        `load_assets`, which reads the tokens.

        Raises:
            ValueError: if the vocabulary is neither its contents nor a size and SHA-256. A path in
                somebody else's file would read a file of this machine.
        """
        vocabulary = config.get("vocabulary")
        vocabulary = SavedVocabulary.from_dict(vocabulary) or _contents(vocabulary, cls)
        return cls(**{**config, "vocabulary": vocabulary})

    def __reduce__(self):
        return self.from_config, (self.get_config(),)


def tokenizer_class(arguments: Mapping[str, Any]) -> type[Tokenizer]:
    """Returns the class of a tokenizer with these arguments."""
    name = "FastTokenizer" if "mask_token" in arguments else "BertTokenizer"
    return getattr(import_module("keras_bert"), name)


def _contents(vocabulary, cls):
    """Returns the contents of a vocabulary in a config, where bytes are in base64."""
    if isinstance(vocabulary, (list, tuple)):
        return vocabulary
    try:
        return base64.b64decode(vocabulary, validate=True)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The config of a {cls.__name__} must hold its vocabulary as a list or bytes in "
            f"base64, or the size and sha256 of an asset; got {type(vocabulary).__name__}."
        ) from error


def _flattened(text):
    """Returns the texts in nested lists, and these lists with the index of each text."""
    texts = []

    def index(values):
        if isinstance(values, list):
            return [index(value) for value in values]
        texts.append(as_str(f"Text {len(texts)}", values))
        return len(texts) - 1

    positions = index(_as_lists(text))
    return texts, positions


def _restored(positions, rows):
    """Returns nested lists with the row of each text."""
    if isinstance(positions, list):
        return [_restored(position, rows) for position in positions]
    return rows[positions]


def _as_lists(values):
    """Converts arrays, columns and other iterables to lists, at all depths."""
    if isinstance(values, (str, bytes, Mapping)):
        return values
    if hasattr(values, "tolist"):
        values = values.tolist()
    elif hasattr(values, "__array__"):
        values = np.asarray(values).tolist()
    if isinstance(values, Iterable):
        return [_as_lists(value) for value in values]
    return values


def as_str(name: str, text: Any) -> str:
    """Returns a text as a str; bytes that aren't UTF-8 become lone surrogates, read as none."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "surrogateescape")
    if not isinstance(text, str):
        raise ValueError(f"{name} is {shown(text)}, not a string. Drop it, or replace it with ''.")
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} has half a character, the lone surrogate {text[error.start]!r} at "
            f"{error.start}. Remove it: text.encode(errors='ignore').decode()."
        ) from error
    return str(text)


def text_begins(texts: Sequence[str], lengths: np.ndarray) -> np.ndarray:
    """Returns where the text of each token begins in all texts joined, int64 `[T]`."""
    ends = np.cumsum([len(text) for text in texts], dtype="int64")
    begins = np.append(0, ends)[:-1]
    return begins.repeat(lengths)
