"""`BertTokenizer`: Google's `tokenization.py`, in Python and NumPy."""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from keras_bert.messages import check_bool, check_int, check_one_of, shown
from keras_bert.text.vocabulary import (
    SPECIAL_TOKENS,
    SavedVocabulary,
    read_vocabulary,
    write_vocabulary,
)
from keras_bert.text.wordpieces import Wordpieces, byte_places

ASSET = "vocab.txt"


class BertTokenizer:
    """WordPiece tokenizer that produces the original BERT's tokens.

    It removes control characters and puts spaces around CJK characters. With `lowercase`, it
    lower-cases letters and strips accents. It splits words at spaces and punctuation, and cuts
    each word greedily into the longest pieces of the vocabulary. A word that can't be cut, or has
    more than `max_word_characters` characters, becomes one [UNK]. A literal "[MASK]" in a text is
    three words. Bytes that are not UTF-8 are skipped. The Unicode version is the running Python's;
    an exported SavedModel keeps it. The tokens of chunks between spaces are cached: the first texts
    take longer.

    Source: `FullTokenizer` in google-research/bert `tokenization.py`.

    Args:
        vocabulary: path of a vocab.txt (UTF-8, one token per line), local or remote; or a list of
            str. It must hold [PAD], [UNK], [CLS], [SEP] and [MASK], in any order.
        lowercase: bool, `True` for uncased vocabularies, `False` for cased ones.
        max_word_characters: int; longer words become [UNK].

    Call arguments:
        text: str or bytes; or texts of any shape, as a list, an array or a column of a table.

    Returns:
        A list of int ids for one text, nested lists for several.

    Raises:
        ValueError: if the vocabulary is invalid or lacks a special token, or if the texts are not
            strings.
        OSError: if the vocabulary can't be read.

    Example:
    >>> special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    >>> tokenizer = BertTokenizer(special + ["un", "##aff", "##able", "!"])
    >>> tokenizer
    BertTokenizer(9 tokens, lowercase=True)
    >>> tokenizer(["Unaffable!", "what?"])
    [[5, 6, 7, 8], [1, 1]]
    >>> tokenizer.detokenize([5, 6, 7, 8])
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
        ids = [self._ids[token] for token in SPECIAL_TOKENS]
        self.pad_token_id, self.unk_token_id, self.cls_token_id = ids[:3]
        self.sep_token_id, self.mask_token_id = ids[3:]
        self._wordpieces = Wordpieces(tokens, self.lowercase, self.max_word_characters)

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
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "vocab.txt")
        >>> tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "so"])
        >>> tokenizer.save_vocabulary(path)
        >>> BertTokenizer.from_preset(path, lowercase=True)
        BertTokenizer(6 tokens, lowercase=True)
        """
        from keras_bert.presets.preprocessors import load_tokenizer

        return load_tokenizer(cls, source, lowercase)

    def __repr__(self):
        return f"BertTokenizer({self.vocabulary_size():,} tokens, lowercase={self.lowercase})"

    def __getattr__(self, name):  # Python asks for names that aren't set, so only before the tokens
        if name in _OF_THE_TOKENS and self.__dict__.get("_saved"):
            raise ValueError(
                f"The tokenizer's vocabulary of {self._saved.size} tokens isn't loaded: it is the "
                f"asset {ASSET} of a .keras file. Load it with keras.saving.load_model(path)."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __call__(self, text: Any) -> list:
        """Calls `tokenize`."""
        return self.tokenize(text)

    def tokenize(self, text: Any) -> list:
        """Turns a text into a list of int ids, or texts of any shape into nested lists."""
        return _map_flat(lambda texts: [_rows(*self.flat_ids(texts))], text)[0]

    def tokenize_with_offsets(self, text: Any, unit: str = "characters") -> tuple:
        """Turns texts into ids, with the span of each token in its text.

        A token comes from `text[start:end]`, in characters or in `unit="bytes"` of UTF-8. An accent
        belongs to the token of its letter (not so in Hugging Face's offsets, if it is a character
        of its own, U+0301). No token starts or ends with an invisible character that normalization
        deletes, such as a soft hyphen. A character that becomes several tokens belongs to all of
        them.

        Returns:
            `(ids, starts, ends)`, each like the result of `tokenize(text)`.

        Example:
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

    def flat_ids(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Turns a list of N str into one array of ids, the fastest form.

        Returns:
            `(ids, lengths)`: int32 `[T]`, the ids of all T tokens in the order of the texts; and
            int64 `[N]`, the number of tokens of each text.
        """
        return self._wordpieces.ids(texts)

    def flat_ids_with_offsets(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        """Turns a list of N str into arrays of ids and their offsets in characters.

        Returns:
            `(ids, starts, ends, lengths)`: int32 and twice int64 `[T]`, as `flat_ids` and
            `tokenize_with_offsets` describe them; and int64 `[N]`, the tokens of each text.
        """
        return self._wordpieces.ids_and_offsets(texts)

    @property
    def found_ids(self) -> set[int]:
        """The ids of all pieces found so far, also of words that became [UNK] after them."""
        return self._wordpieces.found

    def detokenize(self, token_ids: Any) -> str | list:
        """Joins int ids `[T]`, or rows of them, into a str, or nested lists of str.

        Words are separated by spaces, pieces joined and [PAD] dropped. Case, accents and the
        original spaces are lost.
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
        text = " ".join(self._tokens[each] for each in ids if each != self.pad_token_id)
        return " ".join(text.replace(" ##", "").split(" "))

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
        """
        if self._saved is not None:
            tokens = read_vocabulary(os.path.join(folder, ASSET))
            self._saved.check(tokens)
            self._saved = None
            self._set_vocabulary(tokens)

    def get_config(self) -> dict:
        """Returns the constructor's arguments, with the vocabulary as a list."""
        return {
            "vocabulary": self._saved.to_dict() if self._saved else self.get_vocabulary(),
            "lowercase": self.lowercase,
            "max_word_characters": self.max_word_characters,
        }

    @classmethod
    def from_config(cls, config: dict) -> "BertTokenizer":
        """Creates a tokenizer from the result of `get_config`, or from the config in a file.

        A `.keras` file's config holds only the vocabulary's size and SHA-256; Keras then calls
        `load_assets`, which reads the tokens.

        Raises:
            ValueError: if the vocabulary is neither a list nor a size and SHA-256. A path in
                somebody else's file would read a file of this machine.
        """
        vocabulary = config.get("vocabulary")
        saved = SavedVocabulary.from_dict(vocabulary)
        if saved is None and not isinstance(vocabulary, (list, tuple)):
            raise ValueError(
                "The config of a BertTokenizer must hold its vocabulary as a list of str, or the "
                f"size and sha256 of an asset; got {type(vocabulary).__name__}."
            )
        return cls(**{**config, "vocabulary": saved or vocabulary})

    def __reduce__(self):
        return self.from_config, (self.get_config(),)

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
    "_tokens _ids _wordpieces pad_token_id unk_token_id cls_token_id sep_token_id mask_token_id"
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
    """Splits a flat array into a list for each text."""
    values, ends = values.tolist(), np.cumsum(lengths).tolist()
    return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]
