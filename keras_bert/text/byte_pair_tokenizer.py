"""`BytePairTokenizer`: the tokens of RoBERTa and ModernBERT, by Hugging Face's `tokenizers`."""

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.files.remote import read_text
from keras_bert.messages import check_path, from_extra, shown
from keras_bert.text.base_tokenizer import Tokenizer
from keras_bert.text.subwords import flat_rows, flat_spans, without_surrogates
from keras_bert.text.vocabulary import BYTE_PAIRS


class BytePairTokenizer(Tokenizer):
    """Tokenizer of RoBERTa and ModernBERT: byte pair encoding of the bytes of UTF-8.

    A space belongs to the word after it, so a word at the beginning of a text has another token
    than within it. No character is unknown. Pairs are `<s> A </s> </s> B </s>` in RoBERTa, and
    `[CLS] A [SEP] B [SEP]` in ModernBERT. Needs the package `tokenizers`. There is none in
    TensorFlow: texts must be in memory, and the exported SavedModel takes token ids.

    Source: Radford et al. 2019, section 2.2; `RobertaTokenizer` of transformers.

    Args:
        vocabulary: dict of `vocab`, `{token: id}` from 0 without gaps, and `merges`, a list of
            pairs of tokens in the order of their training; perhaps `add_prefix_space`, whether a
            text's first word has the token of one after a space; `nfc`, whether characters are
            composed before; and `added_tokens`, tokens that stay whole: a dict to whether they are
            looked for in the composed text, or a list of those that aren't. Or the path of such a
            JSON file.
        family: `"roberta"` or `"modernbert"`, whose special tokens are called as BERT's.

    Raises:
        ValueError: if the vocabulary is of another form, or lacks a special token.
        ImportError: if `tokenizers` isn't installed.

    Example:
    ```python
    tokenizer = BytePairTokenizer.from_preset("hf://FacebookAI/roberta-base")
    tokenizer.tokenize("A fine book.")
    ```
    """

    families = tuple(BYTE_PAIRS)
    asset = "byte_pairs.json"
    has_graph = False

    def __init__(self, vocabulary: str | os.PathLike | dict[str, Any], family: str = "roberta"):
        self.num_separators = 2 if family == "roberta" else 1
        super().__init__(vocabulary, family)

    @property
    def special(self) -> Sequence[str]:
        return BYTE_PAIRS[self.family]

    def read(self, vocabulary: str | os.PathLike | dict[str, Any]) -> list[str]:
        with from_extra("corpus"):
            import tokenizers
        if not isinstance(vocabulary, dict):
            check_path("vocabulary", vocabulary)
            vocabulary = json.loads(read_text(vocabulary))
        ids, merges = _vocab_and_merges(vocabulary)
        if missing := [token for token in self.special if token not in ids]:
            raise ValueError(f"The vocabulary of {len(ids)} tokens lacks {', '.join(missing)}.")
        self.add_prefix_space = bool(vocabulary.get("add_prefix_space"))
        self.added_tokens = vocabulary.get("added_tokens", {})
        if not isinstance(self.added_tokens, dict):
            self.added_tokens = dict.fromkeys(self.added_tokens, False)
        self._merges = [tuple(pair) for pair in merges]
        pieces = tokenizers.Tokenizer(tokenizers.models.BPE(ids, self._merges))
        pieces.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(self.add_prefix_space)
        pieces.decoder = tokenizers.decoders.ByteLevel()
        if vocabulary.get("nfc"):
            pieces.normalizer = tokenizers.normalizers.NFC()
        added = []
        for token, normalized in self.added_tokens.items():
            added.append(tokenizers.AddedToken(token, normalized=normalized))
        pieces.add_tokens(added)
        self._pieces = pieces
        return sorted(ids, key=ids.get)

    def contents(self) -> dict[str, Any]:
        contents = {
            "vocab": self._ids,
            "merges": [list(pair) for pair in self._merges],
            "add_prefix_space": self.add_prefix_space,
        }
        if self._pieces.normalizer:
            contents["nfc"] = True
        if self.added_tokens:
            contents["added_tokens"] = self.added_tokens
        return contents

    def flat_ids(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        rows = self._pieces.encode_batch_fast(without_surrogates(texts))
        return flat_rows([row.ids for row in rows])

    def flat_ids_with_offsets(self, texts: Sequence[str]) -> tuple[np.ndarray, ...]:
        texts = without_surrogates(texts)
        rows = self._pieces.encode_batch(texts)
        ids, lengths = flat_rows([row.ids for row in rows])
        offsets = [row.offsets for row in rows]
        starts, ends = flat_spans(texts, offsets, lengths, r"\s")
        return ids, starts, ends, lengths

    @classmethod
    def from_preset(cls, source: str | os.PathLike) -> "BytePairTokenizer":
        """Loads the tokenizer of any source that `BertTask.from_preset` accepts.

        Raises:
            ValueError: if the source is unknown or has another tokenizer.
        """
        from keras_bert.presets.preprocessors import load_tokenizer

        return load_tokenizer(cls, source)

    def join(self, tokens: Sequence[str]) -> str:
        return self._pieces.decoder.decode(tokens)

    def ids_of_words(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        return self.flat_ids([f" {word}" for word in words])

    def words(self) -> list[str]:
        return [self.join([token]).removeprefix(" ") or " " for token in self._tokens]


def _vocab_and_merges(vocabulary):
    if isinstance(vocabulary, dict):
        ids = vocabulary.get("vocab")
        merges = vocabulary.get("merges")
        if ids and sorted(ids.values()) == [*range(len(ids))] and isinstance(merges, list):
            return ids, merges
    raise ValueError(
        "The vocabulary of a BytePairTokenizer is a dict of vocab, whose ids are 0, 1, 2 "
        f"and so on, and merges; got {shown(vocabulary)}."
    )
