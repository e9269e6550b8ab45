"""`SentencePieceTokenizer`: the tokens of XLM-RoBERTa and of models with its vocabulary."""

import os
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from keras_bert.files.remote import read_bytes
from keras_bert.messages import check_path
from keras_bert.text import sentence_piece
from keras_bert.text.added_tokens import AddedTokens
from keras_bert.text.base_tokenizer import Tokenizer
from keras_bert.text.subwords import flat_rows, flat_spans, without_surrogates


class SentencePieceTokenizer(Tokenizer):
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
        added_tokens: dict of tokens that stay whole wherever a text has them to whether they are
            found in any case; their ids come after that of `<mask>`.

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

    families = tuple(sentence_piece.FAMILIES)
    asset = sentence_piece.MODEL_FILE
    special = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
    num_separators = 2

    def __init__(
        self,
        vocabulary: str | os.PathLike | bytes,
        family: str = "xlm-roberta",
        added_tokens: Mapping[str, bool] | None = None,
    ):
        self.added_tokens = dict(added_tokens or {})
        super().__init__(vocabulary, family)

    def read(self, vocabulary: str | os.PathLike | bytes) -> list[str]:
        model = vocabulary
        if not isinstance(model, bytes):
            check_path("vocabulary", vocabulary)
            model = read_bytes(vocabulary)
        self._pieces = sentence_piece.loaded(model)
        pieces = self._pieces.id_to_piece(list(range(len(self._pieces))))
        if pieces[:3] != ["<unk>", "<s>", "</s>"]:
            raise ValueError(
                f"A SentencePiece model of {self.family} begins with <unk>, <s>, </s>; this one "
                f"with {', '.join(pieces[:3])}."
            )
        if not sentence_piece.is_plain_unigram(model):
            raise ValueError("SentencePieceTokenizer takes unigram models without byte_fallback.")
        pieces = pieces[3:]
        if repeated := sentence_piece.SPECIAL_TOKENS.intersection(pieces):
            raise ValueError(
                f"The SentencePiece model has {min(repeated)} itself, which is added to it."
            )
        first = sentence_piece.FAMILIES[self.family]
        self.proto = model
        self.shift = len(first) - 3
        self._used = set()
        tokens = [*first, *pieces, "<mask>", *self.added_tokens]
        self._cutter = SimpleNamespace(ids=self._cut, ids_and_offsets=self._cut_with_offsets)
        if self.added_tokens:
            self._cutter = AddedTokens(self.added_tokens, tokens, self._cutter)
        return tokens

    def contents(self) -> bytes:
        return self.proto

    def settings(self) -> dict[str, Any]:
        return {"family": self.family, "added_tokens": self.added_tokens}

    def _cut(self, texts):
        texts = without_surrogates(texts)
        return self._ids_of_pieces(self._pieces.encode(texts, return_type="numpy"))

    def _cut_with_offsets(self, texts):
        texts = without_surrogates(texts)
        rows = self._pieces.encode(texts, return_type="offset_mapping")
        ids, lengths = self._ids_of_pieces([row["ids"] for row in rows])
        offsets = [row["offsets"] for row in rows]
        starts, ends = flat_spans(texts, offsets, lengths, sentence_piece.SPACES)
        return ids, starts, ends, lengths

    def _ids_of_pieces(self, rows):
        pieces, lengths = flat_rows(rows)
        ids = np.where(pieces == 0, self.unk_token_id, pieces + self.shift)
        self._used.update(np.unique(ids).tolist())
        return ids.astype("int32"), lengths

    @classmethod
    def from_preset(cls, source: str | os.PathLike) -> "SentencePieceTokenizer":
        """Loads the tokenizer of any source that `BertTask.from_preset` accepts.

        Raises:
            ValueError: if the source is unknown or has another tokenizer.
        """
        from keras_bert.presets.preprocessors import load_tokenizer

        return load_tokenizer(cls, source)

    def join(self, tokens: Sequence[str]) -> str:
        return "".join(tokens).replace("▁", " ").strip()

    def words(self) -> list[str]:
        return [token.removeprefix("▁") or "▁" for token in self._tokens]

    @property
    def special_ids(self) -> set[int]:
        first = len(sentence_piece.FAMILIES[self.family])
        ids = {*range(first), *range(self.mask_token_id, len(self._tokens))}
        # An unknown character counts less than the least probable piece.
        scores = [score for _, score in self.pieces()]
        ids.add(first + scores.index(min(scores)))
        return ids

    @property
    def used_ids(self) -> set[int]:
        return self._used

    def with_tokens(self, ids: Sequence[int]) -> Self:
        pieces = {i - self.shift for i in ids} | {0, 1, 2}
        proto = sentence_piece.with_pieces(self.proto, pieces)
        return type(self)(proto, **self.settings())

    def pieces(self) -> list[tuple[str, float]]:
        """Returns the pieces of the model with their scores, without the three special ones."""
        ids = list(range(3, len(self._pieces)))
        pieces = self._pieces.id_to_piece(ids)
        return list(zip(pieces, self._pieces.get_score(ids), strict=True))
