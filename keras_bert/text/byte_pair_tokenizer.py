"""`BytePairTokenizer`: the tokens of RoBERTa, by Hugging Face's `tokenizers`."""

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.files.remote import read_utf8
from keras_bert.files.whole import whole_file
from keras_bert.messages import check_one_of, check_path, from_extra, shown
from keras_bert.text.subword_tokenizer import SubwordTokenizer

_SPECIAL = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}


class BytePairTokenizer(SubwordTokenizer):
    """Tokenizer of RoBERTa and DistilRoBERTa: byte pair encoding of the bytes of UTF-8.

    A space belongs to the word after it, so a word at the beginning of a text has another token
    than within it. No character is unknown. Pairs are `<s> A </s> </s> B </s>`. Needs the package
    `tokenizers`. There is none in TensorFlow: texts must be in memory, and the exported SavedModel
    takes token ids.

    Source: Radford et al. 2019, section 2.2; `RobertaTokenizer` of transformers.

    Args:
        vocabulary: dict of `vocab`, `{token: id}` from 0 without gaps, and `merges`, a list of
            pairs of tokens in the order of their training; perhaps `add_prefix_space`, whether a
            text's first word has the token of one after a space; or the path of such a JSON file.

    Raises:
        ValueError: if the vocabulary is of another form, or lacks a special token.
        ImportError: if `tokenizers` isn't installed.

    Example:
    ```python
    tokenizer = BytePairTokenizer.from_preset("hf://FacebookAI/roberta-base")
    tokenizer.tokenize("A fine book.")
    ```
    """

    has_graph = False
    family = "roberta"
    asset = "byte_pairs.json"
    _spaces = r"\s"
    _contents_are = "a dict of vocab and merges"

    def __init__(self, vocabulary: str | os.PathLike | dict[str, Any], family: str = "roberta"):
        check_one_of("family", family, ["roberta"])
        super().__init__(vocabulary)

    @staticmethod
    def _read(vocabulary):
        if isinstance(vocabulary, dict):
            return vocabulary
        check_path("vocabulary", vocabulary)
        return json.loads(read_utf8(vocabulary))

    @staticmethod
    def _contents(vocabulary):
        return vocabulary if isinstance(vocabulary, dict) else None

    def _set_vocabulary(self, vocabulary):
        with from_extra("corpus"):
            from tokenizers import Tokenizer as Pieces
            from tokenizers import decoders, models, pre_tokenizers
        fields = vocabulary if isinstance(vocabulary, dict) else {}
        ids, merges = (fields.get(name) for name in ("vocab", "merges"))
        if not ids or sorted(ids.values()) != [*range(len(ids))] or not isinstance(merges, list):
            raise ValueError(
                "The vocabulary of a BytePairTokenizer is a dict of vocab, whose ids are 0, 1, 2 "
                f"and so on, and merges; got {shown(vocabulary)}."
            )
        if lacking := [token for token in _SPECIAL.values() if token not in ids]:
            raise ValueError(f"The vocabulary of {len(ids)} tokens lacks {', '.join(lacking)}.")
        self.add_prefix_space = bool(fields.get("add_prefix_space"))
        self._merges = [tuple(pair) for pair in merges]
        self._ids, self._tokens = ids, sorted(ids, key=ids.__getitem__)
        for name, token in _SPECIAL.items():
            setattr(self, f"{name}_token_id", ids[token])
        self._pieces = Pieces(models.BPE(ids, self._merges))
        self._pieces.pre_tokenizer = pre_tokenizers.ByteLevel(
            add_prefix_space=self.add_prefix_space
        )
        self._pieces.decoder = decoders.ByteLevel()

    def _cut(self, texts, with_offsets):
        encode = self._pieces.encode_batch if with_offsets else self._pieces.encode_batch_fast
        rows = encode(texts)
        return [row.ids for row in rows], [row.offsets for row in rows] if with_offsets else None

    def ids_of_words(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        return self.flat_ids([f" {word}" for word in words])

    def words(self) -> list[str]:
        return [self._text([token]).removeprefix(" ") or " " for token in self._tokens]

    def save_vocabulary(self, path: str | os.PathLike) -> None:
        with whole_file(path) as file:
            json.dump(self.contents(), file, ensure_ascii=False)

    def contents(self) -> dict[str, Any]:
        """Returns the vocabulary that the constructor takes."""
        merges = [*map(list, self._merges)]
        return {"vocab": self._ids, "merges": merges, "add_prefix_space": self.add_prefix_space}

    _vocabulary = contents

    def _text(self, tokens):
        return self._pieces.decoder.decode(tokens)
