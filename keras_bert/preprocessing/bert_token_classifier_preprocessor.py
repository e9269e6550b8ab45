"""Preprocessing for tagging words and finding entities."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor, Predict
from keras_bert.preprocessing.forms import Examples, Labels, Tensor
from keras_bert.preprocessing.labels import Tags, as_label_names
from keras_bert.preprocessing.tagged_rows import Sentences, TaggedRows, holds_words
from keras_bert.preprocessing.tagged_spans import tags_of_spans
from keras_bert.preprocessing.text_rows import located, ops_of
from keras_bert.preprocessing.text_words import TextWords, find_entities, text_words
from keras_bert.preprocessing.texts import TextExamples
from keras_bert.saved import registered


@registered
@dataclasses.dataclass(eq=False, repr=False)
class BertTokenClassifierPreprocessor(BertPreprocessor):
    """Preprocessor of `BertTokenClassifier`: words and tags in, tags or entities out.

    A word is labeled on its first piece. A sentence longer than a sequence is read in windows that
    overlap by half. Source: Devlin et al. 2019, section 5.3.

    Calls and the other arguments are those of `BertPreprocessor`.

    Args:
        label_names: C strings, the tags: "O", "B-LOC", ...; "0", "1", ... by default. The BIO,
            IO, IOB1, BIOES, BILOU and BMES schemes are supported; "O" is no entity. Without "O",
            as for parts of speech, and in `scores`, a tag without a prefix is a one-word entity.

    Example:
    >>> from keras_bert import BertTokenClassifierPreprocessor, BertTokenizer
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "in", "par", "##is"]
    >>> preprocessor = BertTokenClassifierPreprocessor(
    ...     BertTokenizer(words), sequence_length=6, label_names=["O", "B-LOC"]
    ... )
    >>> [(inputs, labels, weights)] = preprocessor.batches([["in", "Paris"]], [["O", "B-LOC"]])
    >>> inputs["token_ids"].tolist(), labels.tolist(), weights.tolist()
    ([[2, 5, 6, 7, 3]], [[0, 0, 1, 0, 0]], [[0.0, 1.0, 1.0, 0.0, 0.0]])
    """

    label_names: Sequence[str] | None = None

    max_texts = 1
    truncates = False
    signature = {"text": 1}

    def __post_init__(self):
        super().__post_init__()
        self.label_names = as_label_names(self.label_names)

    @property
    def labels(self) -> Tags:
        """The rules of tags."""
        return Tags(self.label_names)

    def read(
        self,
        x: Examples,
        y: Labels | None = None,
        sample_weight: npt.ArrayLike | None = None,
        with_labels: bool = False,
    ) -> TaggedRows | TextWords:
        """Reads words, with their tags for training; or raw texts to find entities in.

        Args:
            x: a list of sentences, each a list of str; or a dict of these as `words` and of
                `documents`, `[n]` ints, the document of each sentence. The document's other
                sentences then fill up each row as context. Without labels `x` may also be texts: a
                string or a list of strings.
            y: for each sentence a list of tags, by name or by number; -100 means no tag, as
                in transformers. For each text, its spans; see `words_and_tags`.
            sample_weight: None.
            with_labels: see `BertPreprocessor`.

        Raises:
            ValueError: if there are no words, a word has no tag, or a tag is unknown.
        """
        examples = self.listed(x)
        if not isinstance(examples, Sentences):
            if y is None and not with_labels:
                return text_words(located(self, examples.columns[0]), self.packer)
            if y is None:
                raise ValueError(
                    "A BertTokenClassifier trains on lists of words and tags, or on texts with "
                    "spans, (start, end, type), as y; got texts."
                )
            words, y = self.words_and_tags(examples, y)
            examples = Sentences(words)
        if sample_weight is not None:
            raise ValueError("Tagged words take no sample_weight: leave it out.")
        labels = None
        if y is not None:
            labels = self.targets(y)
        elif with_labels:
            raise ValueError("Words need the tags of each sentence: pass y.")
        return TaggedRows(examples, self, labels)

    def words_and_tags(
        self, texts: Examples, spans: Sequence
    ) -> tuple[list[list[str]], list[list[str]]]:
        """Splits texts with spans of characters into words with tags, as `fit` does.

        Args:
            texts: n strings.
            spans: for each text a list of `(start, end, type)`, as spaCy has them in a dict of
                `entities`; or of dicts of doccano, Label Studio or Prodigy.

        Returns:
            `(words, tags)`, lists of str for each text, which `scores` takes. A span within a word
            tags all of it, which is logged.

        Raises:
            ValueError: if a span covers no word, or a word of another span.
        """
        [texts] = super().listed(texts).columns
        return tags_of_spans(
            text_words(located(self, texts), self.packer), spans, self.label_names or ()
        )

    def listed(self, x: Examples) -> Sentences | TextExamples:
        if isinstance(x, Sentences):
            return x
        if holds_words(x):
            return Sentences.of(x)
        return super().listed(x)

    def answers(self, outputs: Any, rows: TaggedRows | TextWords | None = None) -> dict:
        """Turns logits `[N, S, C]` into tags of words, entities of texts, or labels of tokens.

        Returns:
            A dict. For words: `label`, `[W]` of each sentence; `probabilities`, `[W, C]` of each;
            and `labels` `[n, C]`, the class names. For prepared inputs: the same for tokens,
            `[B, S]`, `[B, S, C]` and `[B, C]`.

            For texts: `num_entities` `[B]`, and these, `[E]` of each text; a period amid a name,
            as in "St. Louis", belongs to it:

            - `entity_text` and `entity_type`, strings;
            - `entity_start` and `entity_end`, int64, in characters;
            - `entity_start_byte` and `entity_end_byte`, int64, in bytes of UTF-8;
            - `entity_score`, float32, the mean probability of the tags of the entity's words.
        """
        if isinstance(rows, TextWords):
            return find_entities(outputs, rows, self.label_names)
        ops = ops_of(outputs)
        names = ops.strings(self.label_names)
        num_answers = ops.num_rows(outputs)
        if rows is not None:
            outputs = rows.at_words(outputs)
            num_answers = len(rows.lengths)
        best = ops.argmax(outputs, axis=-1)
        answers = {"probabilities": ops.softmax(outputs), "label": ops.take(names, best)}
        if rows is not None:
            for name, values in answers.items():
                answers[name] = ops.from_row_lengths(values, rows.lengths)
        answers["labels"] = ops.repeat(names[None], num_answers, axis=0)
        return answers

    def serve(self, predict: Predict, text: Tensor) -> dict:
        """Finds the entities of raw strings `[B]`, of any length."""
        rows = text_words(located(self, text), self.packer)
        return self.answers(predict(rows.as_batch()[0]), rows)
