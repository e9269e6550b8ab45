"""`FastTokenizer`: the tokens of a `tokenizer.json`, by Hugging Face's `tokenizers`."""

import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Self

import numpy as np

from keras_bert.files.remote import decoded, read_bytes
from keras_bert.messages import check_path, shortened
from keras_bert.text.base_tokenizer import Tokenizer, text_begins
from keras_bert.text.vocabulary import TOKENIZER_FILE
from keras_bert.text.wordpieces import is_space

_SPELLINGS = {
    "pad_token": ("<pad>", "[PAD]"),
    "unk_token": ("<unk>", "[UNK]"),
    "mask_token": ("<mask>", "[MASK]"),
}
_TEXTS_AT_ONCE = 4096  # bounds the memory of their encodings
_MOST_UNUSED_IDS = 2**20
_NOT_UTF8 = dict.fromkeys(range(0xD800, 0xE000), "\ue000")  # which no vocabulary has


class FastTokenizer(Tokenizer):
    """Tokenizer of any `tokenizer.json`: RoBERTa, XLM-RoBERTa, CamemBERT, E5, ModernBERT.

    Its tokens are those of Hugging Face's `tokenizers`, for any algorithm: normalization,
    byte pairs, unigrams, added tokens. A special token in a text, such as "<mask>", is that token.
    [CLS] and [SEP] are those of the file's post-processor: pairs are `<s> A </s> </s> B </s>` or
    `[CLS] A [SEP] B [SEP]`.

    Offsets are those of `tokenizers`, too, without the white space at both ends of a token. They
    may leave out the accent of a letter. "▁" as a token of its own is empty.

    Texts are tokenized on all cores, unless the environment has `TOKENIZERS_PARALLELISM=false`.
    TensorFlow has no ops for it: functions of `tf.data` can't call it, and the exported SavedModel
    takes the token ids of `preprocessor(texts)`.

    Args:
        vocabulary: path of a `tokenizer.json`, local or remote; or its contents, bytes.
        pad_token: str, the token for padding. By default `<pad>` or `[PAD]`.
        unk_token: str, the token for unknown words. By default `<unk>` or `[UNK]`.
        mask_token: str, the token for masked words. By default `<mask>` or `[MASK]`.

    Raises:
        ValueError: if `tokenizers` can't read the vocabulary, or it lacks a special token, or its
            post-processor makes other rows.
        OSError: if the vocabulary can't be read.

    Example:
    ```python
    tokenizer = FastTokenizer.from_preset("hf://intfloat/multilingual-e5-small")
    tokenizer.tokenize("Bonjour le monde")
    ```
    """

    asset = TOKENIZER_FILE
    setting_names = tuple(_SPELLINGS)
    has_graph = False

    def __init__(
        self,
        vocabulary: str | os.PathLike | bytes,
        pad_token: str | None = None,
        unk_token: str | None = None,
        mask_token: str | None = None,
    ):
        self.pad_token = pad_token
        self.unk_token = unk_token
        self.mask_token = mask_token
        super().__init__(vocabulary)

    def read(self, vocabulary: str | os.PathLike | bytes) -> list[str]:
        data = vocabulary
        if not isinstance(data, bytes):
            check_path("vocabulary", vocabulary)
            data = read_bytes(vocabulary)
        self._pieces, single, pair = _loaded(data)
        self._data = data
        is_berts = len(pair) in (3, 4) and single == pair[:2] and len({*pair[1:]}) == 1
        if not is_berts or None in pair:
            raise ValueError(
                f"The post_processor of the vocabulary adds {single} to a text and {pair} to a "
                "pair. A BERT has [CLS] A [SEP] and [CLS] A [SEP] B [SEP], perhaps with two [SEP] "
                "between A and B."
            )
        self.cls_token = pair[0]
        self.sep_token = pair[1]
        self.num_separators = len(pair) - 2
        ids = self._pieces.get_vocab()
        if max(ids.values()) > len(ids) + _MOST_UNUSED_IDS:
            raise ValueError(
                f"The {len(ids):,} tokens of the vocabulary have ids up to {max(ids.values()):,}."
            )
        for name, spellings in _SPELLINGS.items():
            given = getattr(self, name)
            candidates = spellings if given is None else [given]
            known = [token for token in candidates if token in ids]
            if not known:
                raise ValueError(
                    f"The vocabulary of {len(ids):,} tokens lacks {' and '.join(candidates)}: give "
                    f"{name}=, a token that it has."
                )
            setattr(self, name, known[0])
        tokens = [""] * (1 + max(ids.values()))
        for token, index in ids.items():
            tokens[index] = token
        return tokens

    @property
    def special(self) -> Sequence[str]:
        return (
            self.pad_token,
            self.unk_token,
            self.cls_token,
            self.sep_token,
            self.mask_token,
        )

    def contents(self) -> bytes:
        return self._data

    def flat_ids(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        ids = array("i")
        lengths = []
        for row in _encoded(self._pieces.encode_batch_fast, texts):
            ids.extend(row.ids)
            lengths.append(len(row))
        return np.array(ids, "int32"), np.array(lengths, "int64")

    def flat_ids_with_offsets(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        ids = array("i")
        offsets = array("q")
        lengths = []
        for row in _encoded(self._pieces.encode_batch, texts):
            ids.extend(row.ids)
            offsets.extend(chain.from_iterable(row.offsets))
            lengths.append(len(row))
        ids = np.array(ids, "int32")
        lengths = np.array(lengths, "int64")
        starts, ends = np.array(offsets, "int64").reshape(-1, 2).T
        starts, ends = _without_spaces(texts, starts, ends, lengths)
        used = np.unique(ids)
        blank = [index for index in used if not self.join([self._tokens[index]]).strip()]
        return ids, starts, np.where(np.isin(ids, blank), starts, ends), lengths

    @classmethod
    def from_preset(cls, source: str | os.PathLike) -> Self:
        """Loads the tokenizer of any source that `BertTask.from_preset` accepts.

        Raises:
            ValueError: if the source is unknown or has the vocabulary of a `BertTokenizer`.
        """
        from keras_bert.presets.preprocessors import load_tokenizer

        return load_tokenizer(cls, source)

    def join(self, tokens: Sequence[str]) -> str:
        decoder = self._pieces.decoder
        return decoder.decode(list(tokens)) if decoder else " ".join(tokens)

    def with_words(self, words: Sequence[str]) -> Self:
        """Returns a tokenizer with more words, each a token with an id after all others."""
        from tokenizers import AddedToken, Tokenizer

        pieces = Tokenizer.from_buffer(self._data)
        pieces.add_tokens([AddedToken(word, single_word=True, lstrip=True) for word in words])
        return type(self)(pieces.to_str().encode(), **self.settings())

    def ids_of_words(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        return self.flat_ids([f" {word}" for word in words])

    def words(self) -> list[str]:
        return [self.join([token]).strip() for token in self._tokens]


def _loaded(data):
    """Returns the `tokenizers.Tokenizer`, and the special tokens of a row and of a pair."""
    import tokenizers

    text = decoded(data, f"the vocabulary, which begins with {data[:20]!r}")
    try:
        pieces = tokenizers.Tokenizer.from_str(text)
        pieces.no_padding()
        pieces.no_truncation()
        rows = [pieces.encode(""), pieces.encode("", "")]
    except BaseException as error:  # Rust's panics aren't Exceptions
        if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
            raise
        raise ValueError(
            f"tokenizers {tokenizers.__version__} can't read the vocabulary, which begins with "
            f"{data[:20]!r}: {shortened(str(error), 300)}"
        ) from error
    special = []
    for row in rows:
        sequences = zip(row.ids, row.sequence_ids, strict=True)
        ids = [index for index, sequence in sequences if sequence is None]
        special.append(list(map(pieces.id_to_token, ids)))
    return pieces, *special


def _encoded(encode: Callable, texts: Sequence[str]) -> Iterator[Any]:
    """Yields the encoding of each text."""
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        chunk = texts[start : start + _TEXTS_AT_ONCE]
        chunk = [text if text.isascii() else text.translate(_NOT_UTF8) for text in chunk]
        yield from encode(chunk, add_special_tokens=False)


def _without_spaces(texts, starts, ends, lengths):
    """Moves the starts and ends of tokens, int64 `[T]`, to their first and last letters.

    A token of spaces only is empty, and at its end.
    """
    begins = text_begins(texts, lengths)
    starts = starts + begins
    ends = ends + begins
    text = "".join(texts)
    letters = np.append(np.flatnonzero(~is_space(text)), len(text))
    starts = np.minimum(letters[np.searchsorted(letters, starts)], ends)
    before = np.searchsorted(letters, ends) - 1
    ends_of_letters = np.where(before < 0, 0, letters[before] + 1)
    return starts - begins, np.maximum(ends_of_letters, starts) - begins
