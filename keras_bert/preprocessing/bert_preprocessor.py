"""The preprocessor that all tasks build on: texts to batches of BERT's inputs."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import keras
import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_int, check_one_each, check_one_of
from keras_bert.preprocessing.batches import Batches
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.checked_numbers import weight_arrays
from keras_bert.preprocessing.forms import Examples, Labels, as_arrays, in_numpy
from keras_bert.preprocessing.labels import AnyLabels
from keras_bert.preprocessing.text_rows import Rows, TextRows
from keras_bert.preprocessing.texts import TextExamples, text_columns, text_examples
from keras_bert.saved import KeepsArguments, own_arguments, registered, with_objects
from keras_bert.text import numpy_ops
from keras_bert.text.base_tokenizer import Tokenizer, tokenizer_class
from keras_bert.text.tokens import TRUNCATIONS, SegmentPacker, Tokens, ids_of_texts

if TYPE_CHECKING:
    import tensorflow as tf

Outputs: TypeAlias = Any
"""A model's outputs: an array, or a dict of several by name; tensors in a SavedModel."""

Predict: TypeAlias = "Callable[[dict[str, tf.Tensor]], Outputs]"
"""A function from a dict of inputs to the model's outputs."""


@registered
@dataclasses.dataclass(eq=False, repr=False)
class BertPreprocessor(KeepsArguments):
    """Preprocessor that packs texts as `[CLS] A [SEP]` and pairs as `[CLS] A [SEP] B [SEP]`.

    Texts that are too long are truncated. In a pair, the longer text loses a token until both fit,
    the second one on ties (`_truncate_seq_pair` of google-research/bert run_classifier.py). An
    empty second text still has its `[SEP]`. Calls work in Python, and in graphs of TensorFlow, such
    as those of `tf.data`.

    Each task has a preprocessor that builds on this one and converts in both directions. `batches`
    turns raw examples into training batches, and `answers` turns the model's outputs into answers.
    Texts are NumPy's business; those of an exported SavedModel become tensors by the same code. A
    task with another kind of example overrides `listed`, `rows`, `answers`, `serve` and
    `signature`.

    Args:
        tokenizer: a `BertTokenizer`; or a `FastTokenizer`, whose special tokens take the place of
            [CLS], [SEP] and [PAD], perhaps with two of [SEP] in a pair's middle.
        sequence_length: int, S, the most tokens of a row, special ones included: at least 3; a pair
            needs at least 5, for one token of each text.
        truncation: the part of a long text to keep. `"head"` keeps the beginning, `"tail"` the
            end. `"head_tail"` keeps both, with a quarter of the room for the beginning: 128 and
            382 of 510 tokens. Sun et al. 2019 (section 5.3.1) found this best for reviews.
            `"longest_first"` is `"head"` as in Hugging Face's `tokenizers`, and what their folders
            are loaded with: an odd token of the room is the longer text's, the second's on ties.

    Call arguments:
        texts: `[B]` strings: a list, an array or a tensor, also for a single text.
        pairs: `[B]` strings, the second text of each; or None.

    Returns:
        A dict of `token_ids`, `segment_ids` and `padding_mask`, each `[B, S]` int32.

    Raises:
        ValueError: if `sequence_length` leaves no room for text, `truncation` is unknown, texts
            are not `[B]` strings, or texts and second texts differ in number.

    Example:
    >>> from keras_bert import BertPreprocessor, BertTokenizer
    >>> tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "so", "it", "is"])
    >>> preprocessor = BertPreprocessor(tokenizer, sequence_length=8)
    >>> preprocessor(["So it is."])["token_ids"]
    array([[2, 5, 6, 7, 1, 3, 0, 0]], dtype=int32)
    """

    tokenizer: Tokenizer
    sequence_length: int = 128
    truncation: str = "head"

    # That of saved preprocessors; None means the one that their vocabulary is for.
    tokenizer_class: ClassVar[type[Tokenizer] | None] = None
    max_texts = 2  # the most texts that one example may have
    prompt = ""  # before each text
    cuts_windows = False  # whether a text may become several rows
    truncates = True  # False if a long text is always read in windows
    label_names = None  # a list of str for tasks with classes
    multi_label = False  # whether a text may have several labels
    labels = AnyLabels()  # the rules of `targets`
    is_regression = False
    warned_of_cut = False
    # The string inputs of the exported model, by name, with their ranks (None for any).
    signature: ClassVar[dict[str, int | None]] = {"text": None}

    def __post_init__(self):
        if not isinstance(self.tokenizer, Tokenizer):
            name = type(self).__name__
            raise ValueError(f"{name} takes a BertTokenizer; got {type(self.tokenizer).__name__}.")
        check_int("sequence_length", self.sequence_length, at_least=3)  # a token, [CLS] and [SEP]
        check_one_of("truncation", self.truncation, TRUNCATIONS)
        self.sequence_length = int(self.sequence_length)

    def __call__(self, texts: Examples, pairs: Examples | None = None) -> dict[str, Any]:
        columns = [texts]
        if pairs is not None:
            columns.append(pairs)
        if not any(hasattr(column, "graph") for column in columns):  # of a graph of TensorFlow
            columns = list(map(_texts, columns))
            check_one_each(len(columns[0]), "texts", **{"second texts": columns[-1]})
        return self.packer(*map(self.tokenized, columns))

    @property
    def packer(self) -> SegmentPacker:
        """What packs token ids in the same way as a call packs texts."""
        return SegmentPacker(self.tokenizer, self.sequence_length, self.truncation)

    def variants(self) -> dict[str, Self]:
        """Returns other preprocessors that the exported model has signatures for, by name."""
        return {}

    def read(
        self,
        x: Examples,
        y: Labels | None = None,
        sample_weight: npt.ArrayLike | None = None,
        with_labels: bool = False,
    ) -> Rows:
        """Reads raw examples in memory as rows for the model.

        Args:
            x: a string, a list, array or Series of strings, a pair `(texts, texts)`, a list of
                pairs, an array `[n, 2]`, or a dict with any of these as `text`, and extra inputs.
            y: `[n, ...]` labels, or a dict of labels if `targets` returns a dict; or None.
            sample_weight: `[n]` weights, or None.
            with_labels: bool, whether labels are needed, for examples that contain their own.

        Returns:
            Rows. `num_tokens()` returns their lengths, and `batch(numbers, batching)` the inputs,
            labels and weights of the rows with these numbers.

        Raises:
            ValueError: if there are no texts, something is not a text, or texts, labels and weights
                differ in number.
        """
        examples = self.listed(x)
        if y is None and sample_weight is not None:
            raise ValueError("There are weights but no labels: give y with sample_weight.")
        targets = []
        if y is not None:
            labels = self.targets(as_arrays(y))
            targets.append(in_numpy(labels))
        if sample_weight is not None:
            targets.append(weight_arrays(sample_weight))
        for part in keras.tree.flatten(targets):
            check_one_each(len(examples), "examples", **{"labels or weights": part})
        return self.rows(examples, tuple(targets))

    def rows(self, examples: TextExamples, targets: tuple = ()) -> TextRows:
        """Makes rows of listed examples, or of texts that are tensors, with labels and weights."""
        tokens = tuple(map(self.tokenized, examples.columns))
        return TextRows(self.packer, tokens, examples.extra_inputs, targets)

    def listed(self, x: Examples) -> Any:
        """Returns raw examples in memory, in any form, as a sequence; itself unchanged."""
        return text_examples(x, self.max_texts)

    def batches(
        self,
        x: Examples,
        y: Labels | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        batching: Batching = Batching(),  # noqa: B008 (it is frozen)
        with_labels: bool = True,
    ) -> Batches:
        """Makes the batches that a model trains on.

        Examples in memory are tokenized once, before the first batch.

        Args:
            x: raw examples, as `read` takes them.
            y: labels, unless `x` contains them.
            sample_weight: `[n]` weights, or None.
            batching: a `Batching`.
            with_labels: bool; False leaves out the labels that examples contain.

        Returns:
            Input dicts, alone or with labels and weights: `Batches` of NumPy arrays, which `fit`
            of any Keras model takes.

        Raises:
            ValueError: if examples, labels or weights are not what this preprocessor reads.
        """
        return self.read(x, y, sample_weight, with_labels).batches(batching)

    def targets(self, labels: Labels) -> Any:
        """Converts labels to the loss's form; a task with classes accepts names too."""
        return self.labels.numbers(labels)

    def answers(self, outputs: Outputs, rows: Rows | None = None) -> dict:
        """Turns a model's outputs into answers.

        Args:
            outputs: the model's outputs, an array or a dict of arrays, with one row for each of
                `rows`; tensors in the graph of a SavedModel.
            rows: the result of `read`, or None for prepared inputs.

        Returns:
            A dict of arrays or tensors, each with one row per example; if rows differ in length,
            lists of arrays or ragged tensors.

        Raises:
            ValueError: if this preprocessor has no answers.
        """
        raise no_answers(f"model with a {type(self).__name__}")

    def serve(self, predict: Predict, text: tf.Tensor, **extra_inputs: tf.Tensor) -> dict:
        """Answers raw strings in the TensorFlow graph, as the exported model does.

        Args:
            predict: a function that maps a dict of inputs to the model's outputs.
            text: string, `[B]` texts or, unless `signature` says otherwise, `[B, 2]` pairs.
            **extra_inputs: tensors `[B, ...]`.
        """
        if self.signature == {"text": 1}:  # no pairs
            rows = self.rows(TextExamples((text,), extra_inputs))
            outputs = predict(rows.as_batch()[0])
            return self.answers(rows.pooled(outputs))
        import tensorflow as tf

        shape = tf.shape(text)  # [B], or [B, 1 or 2]
        width = tf.reduce_prod(shape[1:])
        message = "text must be [B] texts or [B, 2] pairs of texts; its shape is"
        checked = tf.debugging.Assert(width <= 2, [message, shape])
        with tf.control_dependencies([checked]):
            columns = tf.reshape(text, [-1, width])  # [B, 1 or 2]

        def inputs_of(*texts):
            return self.rows(TextExamples(texts)).as_batch()[0]

        inputs = tf.cond(
            width == 2,
            lambda: inputs_of(columns[:, 0], columns[:, 1]),
            lambda: inputs_of(columns[:, 0]),
        )
        return self.answers(predict({**inputs, **extra_inputs}))

    @classmethod
    def like(cls, preprocessor: BertPreprocessor, **changes: Any) -> Self:
        """Makes an instance of this class from another preprocessor, with changed settings."""
        settings = preprocessor.get_config()
        del settings["tokenizer"]
        if cls is not type(preprocessor):
            known = cls.arguments()
            settings = {name: value for name, value in settings.items() if name in known}
        return cls(preprocessor.tokenizer, **(settings | changes))

    @classmethod
    def arguments(cls) -> list[str]:
        """Returns the names of the constructor's arguments, except the tokenizer."""
        spec = inspect.getfullargspec(cls.__init__)
        others = cls.__base__.arguments() if spec.varkw else []
        known = {"self", "tokenizer", *others}
        return others + [name for name in spec.args + spec.kwonlyargs if name not in known]

    @classmethod
    def from_preset(cls, source: str | os.PathLike, **settings: Any) -> Self:
        """Loads the preprocessor of a preset or of published weights.

        Args:
            source: any source that `BertTask.from_preset` takes.
            **settings: arguments of this class that override the source's settings, such as
                `sequence_length`; also `lowercase`, if the source doesn't state its casing.

        Raises:
            ValueError: if the source is unknown or has no vocabulary.
        """
        from keras_bert.presets.preprocessors import load_preprocessor

        return load_preprocessor(cls, source, settings)

    def get_config(self):
        own = own_arguments(self, self.arguments())
        return {**own, "tokenizer": self.tokenizer.get_config()}

    @classmethod
    def from_config(cls, config):
        config = {**config}
        tokenizer = config.pop("tokenizer")
        made = cls.tokenizer_class or tokenizer_class(tokenizer)
        return cls(made.from_config(tokenizer), **with_objects(config))

    def __repr__(self):
        config = self.get_config()
        del config["tokenizer"]
        settings = [f"{name}={value!r}" for name, value in config.items()]
        return f"{type(self).__name__}({self.tokenizer!r}, {', '.join(settings)})"

    def tokenized(self, texts: list[str] | tf.Tensor) -> Tokens:
        """Tokenizes n texts, a list or a tensor, with the prompt if there is one."""
        if not isinstance(texts, list):
            from keras_bert.graph.tokenizer import graph_tokens

            return graph_tokens(self, texts)
        if self.prompt:
            texts = [self.prompt + text for text in texts]
        least = None  # tokens that rows can have
        keeps_head = self.truncation in ("head", "longest_first")
        if self.truncates and not self.cuts_windows and keeps_head:
            least = self.sequence_length
        ids, lengths = ids_of_texts(self.tokenizer, texts, least)
        return Tokens.of(ids, lengths, numpy_ops)


def _texts(x):
    """Lists texts, perhaps none."""
    count = len(x) if isinstance(x, list) else np.size(x)
    if not count:
        return []
    [texts] = text_columns(x, 1)
    return texts


def preprocessor_of(task: keras.Model) -> Any:
    """Returns the task's preprocessor, which raw examples need."""
    preprocessor = task.preprocessor
    if preprocessor is None:
        raise ValueError(
            f"Text needs a preprocessor: {type(task).__name__}(..., "
            f"preprocessor={task.preprocessor_class().__name__}(tokenizer))."
        )
    return preprocessor


def no_answers(kind: str) -> ValueError:
    """Makes the error for a kind of model that has no answers."""
    return ValueError(
        f"A {kind} has no answers for a text, so there is nothing to serve. Save it with "
        "save_to_preset(folder), fine-tune BertClassifier.from_preset(folder, num_classes=2) or "
        "another task, and export that."
    )
