"""The preprocessor that every task's builds on: texts to batches of what BERT takes."""

from __future__ import annotations

import inspect
import json
import numbers
from pathlib import Path
from typing import Self

import keras
import tensorflow as tf

from keras_bert.files.whole import whole_file
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.extra_inputs import checked_extra_inputs
from keras_bert.preprocessing.packing import TRUNCATIONS, pack
from keras_bert.preprocessing.padding import trim_padding
from keras_bert.preprocessing.raw import as_arrays, is_dataset
from keras_bert.preprocessing.row_batches import alone, map_rows, row_batches
from keras_bert.preprocessing.stream_batches import stream_batches
from keras_bert.preprocessing.text_examples import (
    TextExamples,
    check_same_number,
    text_batches,
    text_examples,
)
from keras_bert.preprocessing.text_rows import TextRows
from keras_bert.text.tokenizer import BertTokenizer

_TEXTS_AT_ONCE = 1024


@keras.saving.register_keras_serializable(package="keras_bert")
class BertPreprocessor:
    """Packs texts, or pairs of them, as `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`.

    A text that is too long is truncated. Of a pair, the longer text loses a token until both fit,
    the second one on ties (`_truncate_seq_pair` of google-research/bert run_classifier.py). An
    empty second text still has its `[SEP]`. Calls work eagerly, in `tf.data` and in a SavedModel.

    Each task has a preprocessor that builds on this one. It knows raw examples in both directions:
    `batches` turns them into what the model trains on, `answers` turns the model's outputs into
    what a user wants to know, with the same ops in training, `answer` and the exported SavedModel.
    A task with other examples overrides `read`, `answers`, `serve` and `signature`.

    Args:
        tokenizer: a `BertTokenizer`.
        sequence_length: int, S, at least 3; 5 leaves room for a token of each text of a pair.
        truncation: what is kept of a text that is too long: `"head"`, its beginning; `"tail"`, its
            end; or `"head_tail"`, a quarter of the room for its beginning and the rest for its
            end: 128 and 382 of 510 tokens, which Sun et al. 2019 (section 5.3.1) found best for
            reviews.

    Call arguments:
        texts: `[B]` strings: a list, an array or a tensor; of a single text too.
        pairs: `[B]` strings, the second text of each; or None.

    Returns:
        A dict of `token_ids`, `segment_ids` and `padding_mask`, each `[B, S]` int32.

    Raises:
        ValueError: if `sequence_length` leaves no room for text, the texts are not `[B]` strings,
            there is no such truncation, or there are not as many second texts.

    Example:
    >>> from keras_bert import BertPreprocessor, BertTokenizer
    >>> tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "so", "it", "is"])
    >>> preprocessor = BertPreprocessor(tokenizer, sequence_length=8)
    >>> preprocessor(["So it is."])["token_ids"].numpy()
    array([[2, 5, 6, 7, 1, 3, 0, 0]], dtype=int32)
    """

    cuts_windows = False  # whether a text may become several rows
    score_names = ()  # the floats of `scores` that can select an epoch, the main one first
    answer_options = {}  # options of `answers` that `tuned` and `write_answers` need

    def __init__(self, tokenizer, sequence_length=128, truncation="head"):
        if not isinstance(sequence_length, numbers.Integral):
            raise ValueError(f"sequence_length must be an int; got {sequence_length!r}.")
        if sequence_length < 3:
            raise ValueError(
                f"sequence_length={sequence_length} leaves no room for a token between [CLS] and "
                "[SEP]; use 3 or more."
            )
        if truncation not in TRUNCATIONS:
            raise ValueError(
                f"truncation must be one of {', '.join(map(repr, TRUNCATIONS))}; got "
                f"{truncation!r}."
            )
        self.tokenizer = tokenizer
        self.sequence_length = int(sequence_length)
        self.truncation = truncation

    def __call__(self, texts, pairs=None):
        first = self._token_ids(texts)
        if pairs is None:
            return self.pack(first)
        second = self._token_ids(pairs)
        if not first.shape[:1].is_compatible_with(second.shape[:1]):
            raise ValueError(
                f"There are {first.shape[0]} texts but {second.shape[0]} second texts: give each "
                "text one."
            )
        return self.pack(first, second)

    def pack(self, first, second=None):
        """Packs ragged token ids `[B, (T)]` as a call packs texts."""
        return pack(self.tokenizer, self.sequence_length, self.truncation, first, second)

    @property
    def signature(self) -> dict[str, int | None]:
        """The string inputs of the exported model, by name, with their ranks (None for any)."""
        return {"text": None}

    def read(self, x, y=None, sample_weight=None, with_labels=False):
        """Reads raw examples in memory as rows for the model.

        Args:
            x: a string, a list, array or Series of strings, a pair `(texts, texts)`, a list of
                pairs, an array `[n, 2]`, or a dict of any of these as `text` and of extra inputs.
            y: `[n, ...]` labels, or a dict of them if `targets` gives one; or None.
            sample_weight: `[n]` weights, or None.
            with_labels: bool, whether labels are needed, for examples that bring their own.

        Returns:
            Rows: `num_tokens()` gives their lengths, `batch(rows, batching)` the inputs, labels and
            weights of those of some numbers.

        Raises:
            ValueError: if there are no texts, something is not a text, or texts, labels and weights
                differ in number.
        """
        if y is None and sample_weight is not None:
            raise ValueError("There are weights but no labels: give y with sample_weight.")
        examples = text_examples(x)
        extra = checked_extra_inputs(examples.extra_inputs)
        targets = () if y is None else (self.targets(as_arrays(y)),)
        if sample_weight is not None:
            targets += (as_arrays(sample_weight),)
        with tf.device("CPU:0"):
            targets = tuple(map(_tensors, targets))
            for part in tf.nest.flatten(targets):
                check_same_number(len(examples), part, "labels or weights")
            columns = tuple(map(self._tokenized, examples.columns))
            return self.rows(columns, {n: tf.constant(v) for n, v in extra.items()}, targets)

    def rows(self, columns, extra_inputs, targets):
        """Makes `TextRows` of token ids; a preprocessor that cuts windows overrides this."""
        return TextRows(self, columns, None, extra_inputs, targets)

    def parts(self, x, size=1024):
        """Yields raw examples part by part, so that answering them takes bounded memory."""
        if is_dataset(x):
            for columns, extra, _ in text_batches(x, size, with_labels=False):
                yield TextExamples(columns, extra)
            return
        examples = text_examples(x)
        for start in range(0, len(examples), size):
            yield examples[start : start + size]

    def batches(
        self,
        x,
        y=None,
        sample_weight=None,
        *,
        batching: Batching = Batching(),  # noqa: B008 (it is frozen)
        with_labels: bool = True,
    ) -> tf.data.Dataset:
        """Makes the batches that a model trains on.

        Examples in memory are tokenized once, before the first batch.

        Args:
            x: raw examples, as `read` takes them; or a `tf.data.Dataset` of texts, `(text, label)`
                or `(text, label, weight)`, batched or not.
            y: labels, unless `x` brings its own.
            sample_weight: `[n]` weights, or None.
            batching: a `Batching`.
            with_labels: bool; False leaves out the labels that examples bring along.

        Returns:
            A `tf.data.Dataset` of the inputs' dict, alone or with labels and weights.

        Raises:
            ValueError: if examples, labels or weights are not what this preprocessor reads. A label
                in a `tf.data.Dataset` that is none of the classes raises a
                `tf.errors.InvalidArgumentError` when its batch is read.
        """
        if is_dataset(x):
            if y is not None or sample_weight is not None:
                raise ValueError(
                    "A dataset brings its own labels and weights: let it give (text, label) or "
                    "(text, label, weight), and leave y and sample_weight out."
                )
            return stream_batches(self, x, batching, with_labels)
        return self.batched(self.read(x, y, sample_weight, with_labels), batching)

    def batched(self, rows, batching: Batching) -> tf.data.Dataset:
        """Makes batches of rows that were read before; see `batches`."""
        batching = batching.for_rows(self.sequence_length)
        numbers = row_batches(rows.num_tokens(), batching)
        return map_rows(numbers, lambda number: alone(rows.batch(number, batching)))

    def targets(self, labels):
        """Labels as the loss takes them; a task with classes takes their names too."""
        return labels

    def stream_targets(self, labels):
        """The same in the graph, for a batch of a `tf.data.Dataset`."""
        if labels.dtype == tf.string:
            raise ValueError("Labels must be numbers; the dataset gives strings.")
        return labels

    def answers(self, outputs, rows=None) -> dict:
        """Turns a model's outputs into answers, in the TensorFlow graph.

        Args:
            outputs: the model's outputs, a tensor or a dict of them, a row for each of `rows`.
            rows: what `read` gave, or None for prepared inputs.

        Returns:
            A dict of tensors, each with a row for each example.

        Raises:
            ValueError: if a text has no answer here.
        """
        raise no_answers(f"model with a {type(self).__name__}")

    def pooled(self, outputs, rows):
        """Outputs with a row for each example, out of those with a row for each of `rows`."""
        return outputs

    def scores(self, answers: list, x, y=None) -> dict:
        """The task's official metrics of `answers`, a list of dicts; see `BertTask.scores`."""
        raise ValueError(f"A {type(self).__name__} has no official scores. Use evaluate.")

    def has_labels(self, x, y=None) -> bool:
        """Whether examples have labels, in `y` or in themselves."""
        return y is not None

    def tuned(self, answers: list, x, y=None) -> tuple[BertPreprocessor, dict]:
        """Tunes what turns outputs into answers, such as a threshold, on a development set.

        Args:
            answers: what `answer` gave, with `answer_options`.
            x: the examples.
            y: their labels, unless `x` brings its own.

        Returns:
            The tuned preprocessor, here this one, and the scores of its answers.
        """
        return self, self.scores(answers, x, y)

    def write_answers(self, folder: str | Path, split: str, answers: list, x, y=None) -> None:
        """Writes answers to a folder: here lines of JSON, `{split}_answers.jsonl`.

        Args:
            folder: str or `Path`.
            split: str, such as `"dev"`, with which the names of files begin.
            answers: what `answer` gave, with `answer_options`.
            x: the examples.
            y: their labels, or None.
        """
        with whole_file(Path(folder) / f"{split}_answers.jsonl") as file:
            for answer in answers:
                print(json.dumps(answer, default=lambda array: array.tolist()), file=file)

    def serve(self, predict, text, **extra_inputs) -> dict:
        """Answers raw strings, in the TensorFlow graph: the exported model's function.

        Args:
            predict: a function of a dict of inputs that gives the model's outputs.
            text: string, `[B]` texts or `[B, 2]` pairs.
            **extra_inputs: tensors `[B, ...]`.
        """
        columns = tf.cond(tf.rank(text) < 2, lambda: tf.reshape(text, [-1, 1]), lambda: text)
        shape = tf.shape(columns)  # [B, 1 or 2]
        message = "text must be [B] texts or [B, 2] pairs of texts; its shape is"
        is_text = tf.reduce_all(shape[1:] <= 2) & (tf.size(shape) == 2)
        with tf.control_dependencies([tf.debugging.Assert(is_text, [message, tf.shape(text)])]):
            columns = tf.ensure_shape(tf.identity(columns), [None, None])
        inputs = tf.cond(
            shape[1] == 2,
            lambda: self(columns[:, 0], columns[:, 1]),
            lambda: self(columns[:, 0]),
        )
        return self.answers(predict({**trim_padding(inputs), **extra_inputs}))

    def for_model(self, backbone, outputs) -> BertPreprocessor:
        """This preprocessor as it suits a model.

        Raises:
            ValueError: if the vocabulary or the sequence length is larger than the backbone's.
        """
        words = self.tokenizer.vocabulary_size()
        if words > backbone.vocabulary_size:
            raise ValueError(
                f"The tokenizer has {words} words, the backbone's table only "
                f"{backbone.vocabulary_size}: its ids would fall outside. Use the vocabulary that "
                f"the backbone was made for, or make it with vocabulary_size={words}."
            )
        if self.sequence_length > backbone.max_sequence_length:
            raise ValueError(
                f"The preprocessor makes sequences of {self.sequence_length} tokens, but the "
                f"backbone has positions for {backbone.max_sequence_length}. Set the "
                f"preprocessor's sequence_length to at most {backbone.max_sequence_length}."
            )
        return self

    @classmethod
    def like(cls, preprocessor: BertPreprocessor, **changes) -> Self:
        """Makes one of this class from another preprocessor, with some settings changed."""
        config = preprocessor.get_config()
        settings = {name: config[name] for name in cls.arguments() if name in config}
        return cls(preprocessor.tokenizer, **{**settings, **changes})

    @classmethod
    def arguments(cls) -> list[str]:
        """Names of the constructor's arguments but the tokenizer."""
        names = inspect.signature(cls.__init__).parameters
        return [name for name in names if name not in ("self", "tokenizer", "kwargs")]

    @classmethod
    def from_preset(cls, source, **settings) -> Self:
        """Loads the preprocessor of a preset or of published weights.

        Args:
            source: what `BertTask.from_preset` takes.
            **settings: arguments of this class that replace those of the source, such as
                `sequence_length`; and `lowercase`, if the source doesn't say its casing.

        Raises:
            ValueError: if the source is unknown or has no vocabulary.
        """
        import keras_bert  # through the front door: this room lies below the presets

        return keras_bert.load_preprocessor(source, cls=cls, **settings)

    def settings(self) -> dict:
        """The config without the vocabulary, as `preprocessor.json` holds it."""
        config = self.get_config()
        config["tokenizer"].pop("vocabulary")
        return config

    def get_config(self):
        return {
            "sequence_length": self.sequence_length,
            "truncation": self.truncation,
            "tokenizer": self.tokenizer.get_config(),
        }

    @classmethod
    def from_config(cls, config):
        tokenizer = BertTokenizer.from_config(config["tokenizer"])
        return cls(**{**config, "tokenizer": tokenizer})

    def __repr__(self):
        settings = {n: v for n, v in self.get_config().items() if n != "tokenizer"}
        shown = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        return f"{type(self).__name__}({self.tokenizer!r}, {shown})"

    def _tokenized(self, texts):
        """The ragged token ids `[n, (T)]` of strings `[n]`; those of many are made on all cores."""
        if len(texts) <= _TEXTS_AT_ONCE:
            return self.tokenizer(texts)  # a pipeline takes longer to build
        batches = tf.data.Dataset.from_tensor_slices(texts).batch(_TEXTS_AT_ONCE)
        return tf.concat(list(batches.map(self.tokenizer, tf.data.AUTOTUNE)), axis=0)

    def _token_ids(self, texts):
        token_ids = self.tokenizer(texts)
        if token_ids.shape.rank != 2:
            raise ValueError(
                "A preprocessor takes [B] texts, and [B] second texts where they are pairs: "
                f"preprocessor(['text']), preprocessor(['text'], ['second text']). It got texts of "
                f"shape {token_ids.shape[:-1]}."
            )
        return token_ids


def no_answers(kind) -> ValueError:
    """Makes the error for a kind of model that has nothing to answer."""
    return ValueError(
        f"A {kind} has no answers to give of a text, so there is nothing to serve. Keep it with "
        "save_to_preset(folder), fine-tune a task from there, for example "
        "BertClassifier.from_preset(folder, num_classes=2), and export that."
    )


def _tensors(values):
    """A tensor `[n, ...]`, or a dict of them, for a task with several labels for each example."""
    if isinstance(values, dict):
        return {name: tf.convert_to_tensor(value) for name, value in values.items()}
    return tf.convert_to_tensor(values)
