"""`SentencePieceTokenizer`: the tokens of XLM-RoBERTa and of models with its vocabulary."""

import base64
import binascii
import os
from collections.abc import Sequence
from typing import Self

import numpy as np

from keras_bert.files.remote import read_bytes
from keras_bert.files.whole import whole_file
from keras_bert.messages import check_one_of, check_path
from keras_bert.text import sentence_piece
from keras_bert.text.subword_tokenizer import SubwordTokenizer


class SentencePieceTokenizer(SubwordTokenizer):
    """Tokenizer of XLM-RoBERTa, multilingual MiniLM and E5, and CamemBERT.

    A SentencePiece model normalizes a text, marks the beginnings of words with "▁", and chooses the
    most probable of all ways to cut it into pieces. Special tokens come before and after the
    model's: `<s>`, `</s>` and `<mask>` stand for [CLS], [SEP] and [MASK]. Pairs are
    `<s> A </s> </s> B </s>`. Needs the package `sentencepiece`.

    Source: Kudo and Richardson 2018; transformers' `XLMRobertaTokenizer`, `CamembertTokenizer`.

    Args:
        vocabulary: path of a SentencePiece model, such as `sentencepiece.bpe.model`, local or
            remote; or its contents, bytes.
        family: `"xlm-roberta"`, also of BERTs with its vocabulary, or `"camembert"`: where the
            special tokens are.

    Raises:
        ValueError: if the vocabulary is no SentencePiece model, or the texts are not strings.
        ImportError: if `sentencepiece` isn't installed.
        OSError: if the vocabulary can't be read.

    Example:
    ```python
    tokenizer = SentencePieceTokenizer("sentencepiece.bpe.model")
    tokenizer.tokenize("Bonjour le monde")
    ```
    """

    asset = sentence_piece.MODEL_FILE
    _spaces = sentence_piece.SPACES
    _contents_are = "a SentencePiece model in base64"

    def __init__(self, vocabulary: str | os.PathLike | bytes, family: str = "xlm-roberta"):
        check_one_of("family", family, sentence_piece.FAMILIES)
        self.family = family
        super().__init__(vocabulary)

    @staticmethod
    def _read(vocabulary):
        if isinstance(vocabulary, bytes):
            return vocabulary
        check_path("vocabulary", vocabulary)
        return read_bytes(vocabulary)

    def _set_vocabulary(self, vocabulary):
        self._pieces = sentence_piece.loaded(vocabulary)
        pieces = [self._pieces.id_to_piece(i) for i in range(self._pieces.get_piece_size())]
        if pieces[:3] != ["<unk>", "<s>", "</s>"]:
            raise ValueError(
                f"A SentencePiece model of {self.family} begins with <unk>, <s>, </s>; this one "
                f"with {', '.join(pieces[:3])}."
            )
        if not sentence_piece.is_plain_unigram(vocabulary):
            raise ValueError("SentencePieceTokenizer takes unigram models without byte_fallback.")
        if own := sentence_piece.SPECIAL_TOKENS & {*pieces[3:]}:
            raise ValueError(
                f"The SentencePiece model has {min(own)} itself, which is added to it."
            )
        self.proto = vocabulary
        special = sentence_piece.FAMILIES[self.family]
        self.shift = len(special) - 3
        self._tokens = [*special, *pieces[3:], "<mask>"]
        self._ids = {token: index for index, token in enumerate(self._tokens)}
        self.pad_token_id, self.unk_token_id = self._ids["<pad>"], self._ids["<unk>"]
        self.cls_token_id, self.sep_token_id = self._ids["<s>"], self._ids["</s>"]
        self.mask_token_id = len(self._tokens) - 1
        self._found = set()

    def _cut(self, texts, with_offsets):
        if not with_offsets:
            return self._pieces.encode(texts, return_type="numpy"), None
        rows = self._pieces.encode(texts, return_type="offset_mapping")
        return [row["ids"] for row in rows], [row["offsets"] for row in rows]

    def _own(self, ids):
        ids = np.where(ids == 0, self.unk_token_id, ids + self.shift).astype("int32")
        self._found.update(np.unique(ids).tolist())
        return ids

    @property
    def special_ids(self) -> set[int]:
        pieces = self.pieces()  # an unknown character counts less than the least probable one
        least = min(range(len(pieces)), key=lambda i: pieces[i][1])
        first = len(sentence_piece.FAMILIES[self.family])
        return {*range(first), first + least, self.mask_token_id}

    @property
    def found_ids(self) -> set[int]:
        return self._found

    def save_vocabulary(self, path: str | os.PathLike) -> None:
        with whole_file(path, "wb") as file:
            file.write(self.proto)

    def with_tokens(self, ids: Sequence[int]) -> Self:
        pieces = {i - self.shift for i in ids} | {0, 1, 2}
        return type(self)(sentence_piece.with_pieces(self.proto, pieces), self.family)

    def pieces(self) -> list[tuple[str, float]]:
        """Returns the pieces of the model with their scores, but for the three special ones."""
        numbers = range(3, self._pieces.get_piece_size())
        return [(self._pieces.id_to_piece(i), self._pieces.get_score(i)) for i in numbers]

    def characters(self) -> bytes:
        """Returns the model's table that normalizes characters."""
        return sentence_piece.characters(self.proto)

    def _vocabulary(self):
        return base64.b64encode(self.proto).decode()

    @staticmethod
    def _contents(vocabulary):
        try:
            return base64.b64decode(vocabulary, validate=True)
        except (TypeError, ValueError, binascii.Error):
            return None

    def _text(self, tokens):
        return "".join(tokens).replace("▁", " ").strip()
