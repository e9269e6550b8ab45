"""What preprocessors and models need of a tokenizer: ids, places, special tokens, files."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Self

import numpy as np

from keras_bert.messages import check_int, check_one_of, shown
from keras_bert.text.vocabulary import SavedVocabulary
from keras_bert.text.wordpieces import byte_places


class Tokenizer:
    """Base class of tokenizers: turns texts into ids, with the place of each token.

    A subclass defines the methods that raise a NotImplementedError. It also has `_read`, of a
    vocabulary or its file; `_set_vocabulary`, which sets `_tokens`, `_ids` and the special tokens;
    `_vocabulary`, for a config in JSON, and `_contents` of that config, or None; and `_text`, which
    joins tokens.

    Attributes:
        pad_token_id, unk_token_id, cls_token_id, sep_token_id, mask_token_id: ints.
        num_separators: int, the [SEP] tokens between the texts of a pair. With one, the second text
            is segment 1. Two take the place of segments, which are all 0.
        family: str, the `model_type` of the models that such tokenizers are made for; None if they
            have others, too.
        splits_at_spaces: bool, whether the tokens before a space don't depend on what follows.
        has_graph: bool, whether TensorFlow has ops for it, for `tf.data` and SavedModels.
        asset: str, the file of the vocabulary in presets and `.keras` files.
    """

    num_separators = 1
    splits_at_spaces = False
    has_graph = True
    family: str | None = None
    asset: str
    _contents_are: str  # for messages
    _read: Callable[[Any], Any]
    _contents: Callable[[Any], Any]

    def __init__(self, vocabulary: Any):
        self._saved = vocabulary if isinstance(vocabulary, SavedVocabulary) else None
        if self._saved is None:
            self._set_vocabulary(self._read(vocabulary))

    def settings(self) -> dict:
        """Returns the constructor's arguments but the vocabulary."""
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

    def ids_of_words(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Turns words from within a text into ids, as `flat_ids` turns texts."""
        return self.flat_ids(words)

    def words(self) -> list[str]:
        """Returns the text of each token, without a mark of the beginning of a word."""
        return [token.removeprefix("▁") or "▁" for token in self._tokens]

    @property
    def special_ids(self) -> set[int]:
        """The ids of the tokens that every vocabulary of this kind has."""
        names = ("pad", "unk", "cls", "sep", "mask")
        return {getattr(self, f"{name}_token_id") for name in names}

    @property
    def found_ids(self) -> set[int]:
        """The ids of all pieces found so far, also of words that became unknown after them."""
        return self._refuse_trimming()

    def save_vocabulary(self, path: str | os.PathLike) -> None:
        """Writes the vocabulary to a file, local or remote."""
        raise NotImplementedError

    def with_tokens(self, ids: Sequence[int]) -> Self:
        """Returns a tokenizer with some of the tokens, the special ones among them, ascending."""
        return self._refuse_trimming()

    def _refuse_trimming(self):
        raise ValueError(f"The vocabulary of a {type(self).__name__} can't be trimmed.")

    def __getattr__(self, name):  # Python asks for names that aren't set, so only before the tokens
        if name in _OF_THE_TOKENS and self.__dict__.get("_saved"):
            raise ValueError(
                f"The tokenizer's vocabulary of {self._saved.size} tokens isn't loaded: it is the "
                f"asset {self.asset} of a .keras file. Load it with keras.saving.load_model(path)."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self):
        [(name, value), *_] = self.settings().items()
        return f"{type(self).__name__}({self.vocabulary_size():,} tokens, {name}={value!r})"

    def __call__(self, text: Any) -> list:
        """Calls `tokenize`."""
        return self.tokenize(text)

    def tokenize(self, text: Any) -> list:
        """Turns a text into a list of int ids, or texts of any shape into nested lists."""
        return _map_flat(lambda texts: [_rows(*self.flat_ids(texts))], text)[0]

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

        def ids_and_offsets(texts):
            ids, starts, ends, lengths = self.flat_ids_with_offsets(texts)
            if unit == "bytes":
                before = byte_places("".join(texts))
                begins = np.cumsum([0, *map(len, texts)])[:-1].repeat(lengths)
                starts, ends = (before[begins + x] - before[begins] for x in (starts, ends))
            return [_rows(values, lengths) for values in (ids, starts, ends)]

        return tuple(_map_flat(ids_and_offsets, text))

    def detokenize(self, token_ids: Any) -> str | list:
        """Joins int ids `[T]`, or rows of them, into a str, or nested lists of str.

        Pieces of words are joined and padding is dropped. What normalization changed is lost.
        """
        rows = _as_lists(token_ids)
        if not isinstance(rows, list):
            raise ValueError(f"detokenize takes ids [T] or rows of them; got {rows!r}.")
        return self._joined(rows)

    def _joined(self, ids):
        if any(isinstance(row, list) for row in ids):
            return [self._joined(row) for row in ids]
        for each in ids:
            check_int("Each of the token_ids", each, 0, len(self._tokens) - 1)
        return self._text([self._tokens[each] for each in ids if each != self.pad_token_id])

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
        check_int("id", id, 0, len(self._tokens) - 1)
        return self._tokens[id]

    def save_assets(self, folder: str | os.PathLike) -> None:
        """Writes the vocabulary to the assets of a `.keras` file."""
        self.save_vocabulary(os.path.join(folder, self.asset))

    def load_assets(self, folder: str | os.PathLike) -> None:
        """Reads the vocabulary from the assets of a `.keras` file, if its config doesn't hold it.

        Raises:
            ValueError: if the tokens aren't those that the config was saved with.
        """
        if saved := self._saved:
            self._set_vocabulary(self._read(os.path.join(folder, self.asset)))
            saved.check(self._tokens)
            self._saved = None

    def get_config(self) -> dict:
        """Returns the constructor's arguments, with the contents of the vocabulary."""
        vocabulary = self._saved.to_dict() if self._saved else self._vocabulary()
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
        contents = SavedVocabulary.from_dict(vocabulary) or cls._contents(vocabulary)
        if contents is None:
            raise ValueError(
                f"The config of a {cls.__name__} must hold its vocabulary as {cls._contents_are}, "
                f"or the size and sha256 of an asset; got {type(vocabulary).__name__}."
            )
        return cls(**{**config, "vocabulary": contents})

    def __reduce__(self):
        return self.from_config, (self.get_config(),)


# {family: the public class of its tokenizers}
_CLASSES = dict.fromkeys(("xlm-roberta", "camembert"), "SentencePieceTokenizer")
_CLASSES |= {"roberta": "BytePairTokenizer", "mpnet": "BertTokenizer"}


def tokenizer_class(family: str | None) -> type[Tokenizer]:
    """Returns the class of the tokenizers of a `family`; of `BertTokenizer` there is none."""
    if family is not None:
        check_one_of("family", family, _CLASSES)
    return getattr(import_module("keras_bert"), _CLASSES.get(family or "", "BertTokenizer"))


_OF_THE_TOKENS = (
    "_tokens _ids _pieces pad_token_id unk_token_id cls_token_id sep_token_id mask_token_id"
).split()


def _map_flat(function: Callable, text: Any) -> list:
    """Applies a function of a list of str to texts of any shape."""
    texts = []

    def collect(text):
        if isinstance(text, list):
            return [collect(part) for part in text]
        texts.append(as_str(f"Text {len(texts)}", text))
        return len(texts) - 1

    numbers = collect(_as_lists(text))

    def restore(numbers, rows):
        if isinstance(numbers, list):
            return [restore(part, rows) for part in numbers]
        return rows[numbers]

    return [restore(numbers, rows) for rows in function(texts)]


def _as_lists(values):
    """Converts arrays, columns and other iterables to lists, at all depths."""
    if isinstance(values, (str, bytes, Mapping)):
        return values
    if hasattr(values, "tolist"):
        values = values.tolist()
    elif hasattr(values, "__array__"):
        values = np.asarray(values).tolist()
    return [*map(_as_lists, values)] if isinstance(values, Iterable) else values


def as_str(name: str, text: Any) -> str:
    """Returns a text as a str; bytes that aren't UTF-8 become lone surrogates, read as none."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "surrogateescape")
    if not isinstance(text, str):
        raise ValueError(f"{name} is {shown(text)}, not a string. Leave it out, or give ''.")
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} has half a character, the lone surrogate {text[error.start]!r} at "
            f"{error.start}. Remove it: text.encode(errors='ignore').decode()."
        ) from error
    return str(text)


def _rows(values, lengths):
    values, ends = values.tolist(), np.cumsum(lengths).tolist()
    return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]
