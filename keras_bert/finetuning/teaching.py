"""Training data with the outputs of a teacher: distillation. N rows, S sequence."""

import copy
import dataclasses
import os
from functools import partial
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_bert.finetuning.settings import FineTuning
from keras_bert.losses import Distillation
from keras_bert.messages import check_all_finite, shown
from keras_bert.models.bert_embedder import BertEmbedder
from keras_bert.models.bert_task import BertTask
from keras_bert.models.row_outputs import have_tokens, row_outputs
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.bert_preprocessor import preprocessor_of
from keras_bert.preprocessing.forms import Examples
from keras_bert.preprocessing.text_rows import Rows
from keras_bert.training.processes import is_chief
from keras_bert.training.strategy import Strategy, scope_of

_NEVER = -1e9  # the logit of a position past a row's end


class Teaching(NamedTuple):
    """What `finetune` trains on: labels, perhaps with a teacher's outputs, or its vectors alone."""

    loss: Any = None  # None is the task's default
    teacher: BertTask | None = None
    weights: dict[str, float] = {}  # of a `Distillation`, if there are labels to join

    @property
    def needs_labels(self) -> bool:
        """Whether training examples need labels."""
        return self.teacher is None or bool(self.weights)

    def compile_args(self, defaults: dict[str, Any]) -> dict[str, Any]:
        """Returns arguments of `compile`; metrics would take the teacher's outputs for labels."""
        settings = defaults if self.loss is None else {"loss": self.loss}
        if not self.weights:
            return settings
        distillation = partial(Distillation, **self.weights)
        losses = keras.tree.map_structure(distillation, settings["loss"])
        return {"loss": losses, "loss_weights": settings.get("loss_weights")}


def start_teaching(
    model: BertTask,
    teacher: BertTask | str | os.PathLike | None,
    settings: FineTuning,
    strategy: "Strategy | None",
    sample_weight: Any,
) -> Teaching:
    """Checks the arguments of `finetune` that concern a teacher, and loads it from a preset."""
    loss = settings.loss
    if teacher is None:
        return Teaching(loss)
    if isinstance(teacher, (str, os.PathLike)):
        with scope_of(strategy):
            teacher = type(model).from_preset(teacher)
    _check_teacher(model, teacher)
    if not isinstance(model, BertEmbedder):
        losses = keras.tree.flatten(loss)
        if any(callable(one) and not isinstance(one, keras.losses.Loss) for one in losses):
            raise ValueError(
                "With a teacher a loss gets labels of `[N, 1]`, which a function may not expect: "
                "pass a keras.losses.Loss, or leave loss out for the task's own."
            )
        weights = {"temperature": settings.temperature, "alpha": settings.alpha}
        return Teaching(loss, teacher, weights)
    if sample_weight is not None or hasattr(loss, "over_batch"):
        raise ValueError(
            "A teacher's vectors are learned one by one: leave sample_weight out, and give no "
            "loss that compares texts."
        )
    return Teaching(loss or "mean_squared_error", teacher)


def rows_of_texts(preprocessor: Any, x: Examples) -> Rows:
    """Reads each text of an embedder's examples once, with the prompt that `fit` gives it."""
    columns = preprocessor.listed(x).columns
    readers = [preprocessor]
    if len(columns) > 1:
        readers = preprocessor.of_columns(len(columns), None)
    texts = {}
    for reader, column in zip(readers, columns, strict=True):
        texts |= dict.fromkeys(reader.prompt + text for text in column)
    plain = copy.copy(preprocessor)
    plain.prompt = ""
    return plain.read(list(texts))


@dataclasses.dataclass
class TaughtRows(Rows):
    """Rows whose labels follow a teacher's outputs, as the loss `Distillation` takes them."""

    rows: Rows  # of the student's preprocessor; without labels the outputs take their place
    outputs: Any  # the teacher's, `[N, ...]` each, in the structure of the model's
    have_tokens: Any  # in the same structure, whether the second axis is that of S tokens

    @property
    def num_sequences(self) -> int:
        """How many sequences an example has; see `PairRows`."""
        return self.rows.num_sequences

    @property
    def sequence_length(self) -> int:
        return self.rows.sequence_length

    def num_tokens(self) -> np.ndarray:
        return self.rows.num_tokens()

    def batch(self, rows: np.ndarray, batching: Batching) -> tuple:
        inputs, *targets = self.rows.batch(rows, batching)
        width = keras.tree.flatten(inputs)[0].shape[-1]

        def of_batch(values, has_tokens):
            return np.array(values[rows, :width] if has_tokens else values[rows])

        outputs = keras.tree.map_structure(of_batch, self.outputs, self.have_tokens)
        labels, *weights = targets or [None]
        if labels is not None:
            outputs = keras.tree.map_structure(_joined, outputs, labels)
        return inputs, outputs, *weights


def _joined(outputs, labels):
    """Joins `[..., C]` outputs and one label each, or L of them, to `[..., C + L]` float32."""
    labels = labels if labels.ndim == outputs.ndim else labels[..., None]
    return np.concatenate([outputs, labels], axis=-1, dtype="float32")


def rows_with_teacher(
    model: BertTask, teacher: BertTask, rows: Rows, batch_size: int
) -> TaughtRows:
    """Has a teacher answer all rows once, and joins its outputs to their labels."""
    longest = model.preprocessor.sequence_length
    lengths = np.asarray(rows.num_tokens())
    is_first = is_chief(model)
    if is_first:
        print(f"The teacher answers {len(lengths):,} rows.", flush=True)
    outputs = row_outputs(teacher, rows, longest, batch_size, verbose=int(is_first))
    past_end = np.arange(longest) >= lengths[:, None]

    def checked(values, has_tokens):
        check_all_finite("The teacher's outputs", values, "Its training diverged.")
        values = values.astype("float32", copy=False)
        if has_tokens and values.ndim == 2:
            values[past_end] = _NEVER
        return values

    are_of_tokens = have_tokens(model)
    outputs = keras.tree.map_structure(checked, outputs, are_of_tokens)
    return TaughtRows(rows, outputs, are_of_tokens)


def _check_teacher(model, teacher):
    """Raises a ValueError unless a teacher gives a model's outputs for the model's inputs."""
    if type(teacher) is not type(model) or teacher is model:
        raise ValueError(
            f"The teacher must be another {type(model).__name__}; got {shown(teacher)}."
        )
    others = _compared(teacher)
    for name, value in _compared(model).items():
        if others[name] != value:
            raise ValueError(
                f"The teacher has another {name}: {shown(others[name])}, and the model "
                f"{shown(value)}. Start both from the same vocabulary, and train them on the same "
                "labels."
            )
    longest = model.preprocessor.sequence_length
    most = teacher.backbone.max_sequence_length
    if longest > most:
        raise ValueError(
            f"The model reads rows of {longest} tokens, and the teacher has {most} positions: load "
            f"the model with sequence_length={most}."
        )


def _compared(task):
    """Returns what teacher and student have in common, by name."""
    preprocessor = preprocessor_of(task)
    is_multi_label = getattr(preprocessor, "multi_label", False)
    is_regression = getattr(preprocessor, "is_regression", False)
    shapes = [tuple(spec.shape) for spec in keras.tree.flatten(task.output)]
    return {
        "vocabulary": preprocessor.tokenizer.get_vocabulary(),
        "settings of its tokenizer": preprocessor.tokenizer.settings(),
        "kind of labels": {"multi_label": is_multi_label, "is_regression": is_regression},
        "list of classes": getattr(preprocessor, "label_names", None),
        "shape of outputs": shapes,
        "set of inputs": [name for name in task.input if name != "segment_ids"],  # rows have them
    }
