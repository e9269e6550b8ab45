"""Preprocessing for text embeddings."""

import copy
import dataclasses
import math
from typing import Any, Self

import numpy.typing as npt

from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
from keras_bert.preprocessing.checked_numbers import weight_arrays
from keras_bert.preprocessing.embedding_rows import (
    labelled_texts,
    text_columns_rows,
)
from keras_bert.preprocessing.forms import Examples, Labels, as_arrays, one_each
from keras_bert.preprocessing.labels import Similarities, label_array
from keras_bert.preprocessing.prompts import KINDS, prompt_of, prompts_by_name
from keras_bert.preprocessing.text_rows import Rows, TextRows
from keras_bert.preprocessing.texts import TextExamples, check_texts
from keras_bert.saved import registered


@registered
@dataclasses.dataclass(eq=False, repr=False)
class BertEmbedderPreprocessor(BertPreprocessor):
    """Preprocessor of `BertEmbedder`: texts in, vectors out.

    `batches` takes the examples that `BertEmbedder` lists; their inputs are a tuple of dicts, one
    for each text of an example. Calls and the other arguments are those of `BertPreprocessor`.

    Args:
        prompts: dict of strings by name, such as `{"query": "query: ", "document": "passage: "}`,
            which some published embedders need before their texts; or None. `encode_query` and
            `encode_document` of `BertEmbedder` prepend them, and so does training on pairs without
            scores: an anchor is a query, its positives and negatives are documents.
        default_prompt_name: str, the name of the prompt of all other texts; None is no prompt.

    Example:
    >>> from keras_bert import BertEmbedderPreprocessor, BertTokenizer
    >>> tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "so", "it", "is"])
    >>> BertEmbedderPreprocessor(tokenizer, 8)(["So it is."])["token_ids"]
    array([[2, 5, 6, 7, 1, 3, 0, 0]], dtype=int32)
    """

    prompts: dict[str, str] | None = None
    default_prompt_name: str | None = None

    labels = Similarities()
    max_texts = math.inf  # of an example to train on; to embed, up to 2

    def __post_init__(self):
        super().__post_init__()
        self.prompts = prompts_by_name(self.prompts, self.default_prompt_name)
        self.prompt = self.prompts.get(self.default_prompt_name, "")

    def variants(self) -> dict[str, Self]:
        """Returns this preprocessor with the prompts of queries and documents, if it has any."""
        variants = {}
        for kind in KINDS if self.prompts else ():
            variants[kind] = copy.copy(self)
            variants[kind].prompt = prompt_of(self.prompts, kind)
        return variants

    def read(
        self,
        x: Examples,
        y: Labels | None = None,
        sample_weight: npt.ArrayLike | None = None,
        with_labels: bool = False,
    ) -> Rows:
        """Reads texts to embed; with labels or `with_labels`, examples to train on.

        Raises:
            ValueError: if examples are none of those that train an embedder, as in the table above.
        """
        y = as_arrays(y)
        is_read_by_base = not with_labels
        if y is not None:
            is_read_by_base = one_each(label_array(y)).ndim > 1  # for a loss of vectors
        if is_read_by_base:
            return super().read(x, y, sample_weight, with_labels)
        if y is not None and sample_weight is not None:
            raise ValueError("Examples with scores or classes take no sample_weight.")
        columns = self.listed(x).columns
        if len(columns) > 1:
            return text_columns_rows(self, columns, y, weight_arrays(sample_weight))
        if y is None:
            raise ValueError(
                "An embedder can't be trained on texts alone: pass pairs, pairs with scores, or "
                "class labels."
            )
        return labelled_texts(self, columns[0], y)

    def rows(self, examples: TextExamples, targets: tuple = ()) -> TextRows:
        check_texts(examples.columns, 2)
        return super().rows(examples, targets)

    def of_columns(self, number: int, y: Any) -> list[Self]:
        """Returns the preprocessor of each text of an example: that of a query, then documents."""
        variants = self.variants()
        if y is not None or not variants:
            return [self] * number
        return [variants["query"]] + [variants["document"]] * (number - 1)

    def answers(self, outputs: Any, rows: Rows | None = None) -> dict:
        """Returns the model's vectors as `embedding`, `[B, H]`.

        Raises:
            ValueError: if the model returns a vector for each token (`pooling=None`).
        """
        if len(outputs.shape) != 2:
            raise ValueError(
                "With pooling=None there is a vector for each token, as of predict. For one per "
                'text, load the model with pooling="mean", "max" or "cls".'
            )
        return {"embedding": outputs}
