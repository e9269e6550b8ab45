"""Training data with the outputs of a teacher: distillation. N rows, S sequence."""

import copy
import dataclasses
import os
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
from tqdm import tqdm

from keras_bert.files.whole import whole_path
from keras_bert.finetuning.settings import Teacher
from keras_bert.losses import Distillation
from keras_bert.messages import check_all_finite, shown
from keras_bert.models.bert_embedder import BertEmbedder
from keras_bert.models.bert_task import BertTask
from keras_bert.models.row_outputs import row_outputs
from keras_bert.models.task_data import preprocessor_of
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.raw import Examples, text_columns
from keras_bert.preprocessing.text_rows import LONGEST, Rows
from keras_bert.training.processes import is_chief

_NEVER = -1e9  # the logit of a position past a row's end


def load_teacher(
    model: BertTask, teacher: Any, loss: Any, sample_weight: Any, batching: Batching
) -> Teacher | None:
    """Returns a `Teacher` whose source is a model, checked to teach with these arguments."""
    if teacher is None:
        return None
    if not isinstance(teacher, Teacher):
        teacher = Teacher(teacher)
    source = teacher.source
    if isinstance(source, (str, os.PathLike)):
        source = type(model).from_preset(source)
    _check_teacher(model, source)
    if batching.packed and model.preprocessor.packs == "positions":
        raise ValueError(
            "A teacher's logits of positions can't be packed: leave packed out of the batching."
        )
    is_one_by_one = sample_weight is None and not hasattr(loss, "over_batch")
    if learns_vectors(model, teacher) and not is_one_by_one:
        raise ValueError(
            "A teacher's vectors are learned one by one: leave sample_weight out, and give no "
            "loss that compares texts."
        )
    return dataclasses.replace(teacher, source=source)


def learns_vectors(model: BertTask, teacher: Teacher | None) -> bool:
    """Returns whether a model learns a teacher's vectors, which need no labels."""
    return teacher is not None and isinstance(model, BertEmbedder)


def loss_arguments(model: BertTask, teacher: Teacher | None, loss: Any) -> dict[str, Any]:
    """Returns arguments of `compile`; metrics would take a teacher's outputs for labels."""
    arguments = model.default_compile_args() if loss is None else {"loss": loss}
    if teacher is None or learns_vectors(model, teacher):
        return arguments
    weights = {"temperature": teacher.temperature, "alpha": teacher.alpha}
    losses = keras.tree.map_structure(partial(Distillation, **weights), arguments["loss"])
    return {"loss": losses, "loss_weights": arguments.get("loss_weights")}


def rows_of_texts(preprocessor: Any, x: Examples) -> Rows:
    """Reads each text of an embedder's examples once, with the prompt that `fit` gives it."""
    columns = text_columns(x)
    preprocessors = [preprocessor]
    if len(columns) > 1:
        preprocessors = preprocessor.of_columns(len(columns), None)
    texts = {}  # in order, each once
    for of_column, column in zip(preprocessors, columns, strict=True):
        texts |= {of_column.prompt + text: None for text in column}
    without_prompt = copy.copy(preprocessor)
    without_prompt.prompt = ""
    return without_prompt.read([*texts])


@dataclasses.dataclass
class RowsWithTeacher:
    """Rows whose labels follow a teacher's outputs, as the loss `Distillation` takes them."""

    rows: Rows  # of the student's preprocessor; without labels the outputs take their place
    outputs: Any  # the teacher's, `[N, ...]` each, in the structure of the model's
    have_tokens: Any  # in the same structure, whether the second axis is that of S tokens

    @property
    def num_sequences(self) -> int:
        """How many sequences an example has; see `PairRows`."""
        return getattr(self.rows, "num_sequences", 1)

    def num_tokens(self) -> np.ndarray:
        return self.rows.num_tokens()

    def batch(self, rows: np.ndarray, batching: Batching) -> tuple:
        inputs, *targets = self.rows.batch(rows, batching)
        width = keras.tree.flatten(inputs)[0].shape[-1]

        def outputs_of_batch(values, has_tokens):
            return np.array(values[rows, :width] if has_tokens else values[rows])

        outputs = keras.tree.map_structure(outputs_of_batch, self.outputs, self.have_tokens)
        if not targets:
            return inputs, outputs
        labels, *weights = targets
        return inputs, keras.tree.map_structure(_joined, outputs, labels), *weights


def _joined(outputs, labels):
    """Joins `[..., C]` outputs and one label each, or L of them, to `[..., C + L]` float32."""
    if labels.ndim < outputs.ndim:
        labels = labels[..., None]
    return np.concatenate([outputs, labels], axis=-1, dtype="float32")


@dataclasses.dataclass
class _Subset:
    """Some of the rows, without their labels."""

    rows: Rows
    indices: np.ndarray

    def num_tokens(self):
        return np.asarray(self.rows.num_tokens())[self.indices]

    def batch(self, rows, batching):
        return self.rows.batch(self.indices[rows], batching)[:1]


def rows_with_teacher(
    model: BertTask,
    teacher: BertTask,
    rows: Rows,
    folder: Path | None,
    batch_size: int,
    block_size: int = 1024,
) -> RowsWithTeacher:
    """Joins a teacher's outputs for all rows to their labels; the teacher answers each row once.

    The outputs lie in files, so that memory doesn't grow with them, and an interrupted run resumes
    after the last block; those of other rows or weights have another folder. Without a folder they
    stay in memory.
    """
    longest = preprocessor_of(model).sequence_length
    count = len(rows.num_tokens())
    starts = range(0, count, block_size)
    blocks = [np.arange(start, min(start + block_size, count)) for start in starts]
    specs = keras.tree.flatten(model.output)
    reads_tokens = len(model.input["token_ids"].shape) == 2  # [B, C, S] for choices
    have_tokens = [reads_tokens and None in spec.shape[1:] for spec in specs]

    def answer(indices):
        block = _Subset(rows, indices)
        outputs = keras.tree.flatten(row_outputs(teacher, block, longest, batch_size, verbose=0))
        past_end = np.arange(longest) >= block.num_tokens()[:, None]
        for values, spec, has_tokens in zip(outputs, specs, have_tokens, strict=True):
            check_all_finite("The teacher's outputs", values, "Its training diverged.")
            if has_tokens and len(spec.shape) == 2:
                values[past_end] = _NEVER
        return outputs

    if folder is not None:
        folder = folder / _fingerprint(teacher, rows, blocks, longest)
    first = answer(np.arange(1))
    saved = _open_arrays(folder, [(count, *values.shape[1:]) for values in first])
    missing = [block for block in blocks if _is_missing(saved, block)]
    if missing and is_chief(model):
        print(f"The teacher answers {sum(map(len, missing)):,} rows.", flush=True)
    progress = tqdm(missing, unit_scale=block_size, unit="row", disable=len(missing) < 2)
    for block in progress:
        for values, answers in zip(saved, answer(block), strict=True):
            values[block] = answers
    outputs = keras.tree.pack_sequence_as(model.output, saved)
    have_tokens = keras.tree.pack_sequence_as(model.output, have_tokens)
    return RowsWithTeacher(rows, outputs, have_tokens)


def _fingerprint(teacher, rows, blocks, longest):
    """Returns a checksum of the teacher's weights and of the inputs of all rows."""
    crc = longest
    for weight in teacher.weights:
        crc = _crc(keras.ops.convert_to_numpy(weight), crc)
    for block in blocks:
        for values in rows.batch(block, LONGEST)[0].values():
            crc = _crc(values, crc)
    return f"{crc:08x}"


def _crc(array, crc):
    return zlib.crc32(np.ascontiguousarray(array).tobytes(), crc)


def _open_arrays(folder, shapes):
    """Opens float32 arrays in files, of an earlier run if they are there; new ones hold NaN."""
    if folder is None:
        return [np.full(shape, np.nan, "float32") for shape in shapes]
    folder.mkdir(parents=True, exist_ok=True)
    arrays = []
    for index, shape in enumerate(shapes):
        path = folder / f"{index}.npy"
        if not path.exists():
            with whole_path(path) as new:
                np.lib.format.open_memmap(new, "w+", "float32", shape)[:] = np.nan
        arrays.append(np.lib.format.open_memmap(path, "r+"))
    return arrays


def _is_missing(arrays, block):
    return any(np.isnan(values[block]).any() for values in arrays)


def _check_teacher(model, teacher):
    """Raises a ValueError unless a teacher gives a model's outputs for the model's inputs."""
    if type(teacher) is not type(model) or teacher is model:
        raise ValueError(
            f"The teacher must be another {type(model).__name__}; got {shown(teacher)}."
        )
    of_teacher = _compared(teacher)
    for name, value in _compared(model).items():
        if of_teacher[name] != value:
            raise ValueError(
                f"The teacher has another {name}: {shown(of_teacher[name])}, and the model "
                f"{shown(value)}. Start both from the same vocabulary, and train them on the same "
                "labels."
            )
    longest, most = model.preprocessor.sequence_length, teacher.backbone.max_sequence_length
    if longest > most:
        raise ValueError(
            f"The model reads rows of {longest} tokens, and the teacher has {most} positions: load "
            f"the model with sequence_length={most}."
        )


def _compared(task):
    """Returns what teacher and student must have in common, by name."""
    preprocessor = preprocessor_of(task)
    return {
        "vocabulary": preprocessor.tokenizer.get_vocabulary(),
        "settings of its tokenizer": preprocessor.tokenizer.settings(),
        "kind of labels": {"multi_label": getattr(preprocessor, "multi_label", False)},
        "list of classes": getattr(preprocessor, "label_names", None),
        "shape of outputs": [tuple(spec.shape) for spec in keras.tree.flatten(task.output)],
        "set of inputs": [name for name in task.input if name != "segment_ids"],  # rows have them
    }
