"""Construction of this library's models from another library's weights."""

import contextlib
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import keras

from keras_bert.presets.formats.checkpoint import ENCODER_PARTS, Checkpoint, Spelling
from keras_bert.training.keras_internals import set_initial_value

logger = logging.getLogger("keras_bert")


@dataclass
class LoadReport:
    """Report of which weights were loaded from the source, printed as a table.

    Args:
        source: the name of the source.
        matched: `{our name: (shape, the source's names)}`.
        new: `{our name: shape}` of weights that the source lacks; they are newly initialized.
        left_over: `{the source's name: shape}` of tensors that the model doesn't use.
    """

    source: str
    matched: dict[str, tuple] = field(default_factory=dict)
    new: dict[str, tuple] = field(default_factory=dict)
    left_over: dict[str, tuple] = field(default_factory=dict)

    def __str__(self) -> str:
        rows = [("weight", "shape", "from")]
        rows += [(name, _size(shape), theirs) for name, (shape, theirs) in self.matched.items()]
        rows += [(name, _size(shape), "newly initialized") for name, shape in self.new.items()]
        rows += [("(left over)", _size(shape), name) for name, shape in self.left_over.items()]
        first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
        table = "".join(f"{name:<{first}}  {size:<{second}}  {of}\n" for name, size, of in rows)
        return (
            f"{table}{self.source}: {len(self.matched)} weights matched, {len(self.new)} newly "
            f"initialized, {len(self.left_over)} left over."
        )

    def log(self) -> None:
        """Warns of new weights, and logs the tensors that were not used."""
        if self.new:
            logger.warning(
                "%s lacks %s: newly initialized. Train the model before using outputs that "
                "depend on them.",
                self.source,
                ", ".join(self.new),
            )
        if self.left_over:
            logger.info("%s: not used: %s.", self.source, ", ".join(self.left_over))


@contextlib.contextmanager
def naming(source: object) -> Iterator[None]:
    """Turns errors of the block into ValueErrors that name the source of its settings."""
    try:
        yield
    except Exception as error:  # classes raise errors of any kind at values of another type
        if isinstance(error, ValueError) and str(source) in str(error):
            raise
        reason = str(error) or type(error).__name__
        raise ValueError(f"{source} can't be loaded: {reason}") from error


def check_vocabulary(checkpoint: Checkpoint) -> None:
    """Raises a ValueError if a `Checkpoint` has more words than its table has rows."""
    if checkpoint.vocabulary is None:
        return
    source, words = checkpoint.source, len(checkpoint.vocabulary)
    rows = checkpoint.backbone["vocabulary_size"]
    if words > rows:
        raise ValueError(
            f"{source} has a vocabulary of {words} tokens but a table of {rows}: they belong to "
            "different models. Put the vocabulary of these weights in the same folder."
        )
    if words < rows:
        message = "%s: %d tokens, the last %d rows of the table are unused."
        logger.info(message, source, words, rows - words)


def with_weights(
    checkpoint: Checkpoint, make: Callable[[], keras.Model], head_may_differ: bool = False
) -> keras.Model:
    """Makes a model with the weights of a `Checkpoint`, and its `load_report`.

    Tensors are read directly into the model, one after the other: no random weights are drawn for
    them, and memory holds no second copy. A head of another shape is new if `head_may_differ`.
    """
    failures = []

    def value_of(weight):
        def read(shape, dtype):
            try:
                return keras.ops.convert_to_tensor(weight.read(), dtype)
            except Exception as error:  # Keras must reach the end of its list of variables
                failures.append(error)
                return keras.ops.zeros(shape, dtype)

        return read

    with keras.StatelessScope():  # variables get their initial values when it ends
        with naming(checkpoint.source):
            model = make()
        model.load_report = _report(model, checkpoint, head_may_differ)
        for variable in model.weights:
            if variable.path in model.load_report.matched:
                set_initial_value(variable, value_of(checkpoint.weights[variable.path]))
    if failures and not isinstance(failures[0], ValueError):
        raise ValueError(f"{checkpoint.source} can't be read: {failures[0]}") from failures[0]
    if failures:
        raise failures[0]
    return model


def _report(model, checkpoint, head_may_differ):
    """Reports which weights a model takes; raises a ValueError unless its encoder matches."""
    report = LoadReport(checkpoint.source, left_over={**checkpoint.left_over})
    left_over = checkpoint.left_over.items()
    faults = [f"{n} {list(s)} has no place" for n, s in left_over if re.match("bert[./]", n)]
    other_task = type(model).__name__ != checkpoint.task  # another task's head has the same names
    for variable in model.weights:
        name, shape = variable.path, tuple(variable.shape)
        weight, theirs = checkpoint.weights.get(name), _their_names(checkpoint, name)
        is_encoder = name.startswith(ENCODER_PARTS)
        if other_task and not is_encoder and not name.startswith("pooler/"):
            weight = None
        if weight is None and is_encoder:
            faults.append(f"{theirs} is missing, {list(shape)} here")
        elif weight is not None and weight.shape == shape:
            report.matched[name] = (shape, theirs)
        elif weight is None or (head_may_differ and not is_encoder):
            report.new[name] = shape
        else:
            faults.append(f"{name} is {list(weight.shape)} there and {list(shape)} here")
    if faults:
        described = "its configuration describes"
        if head_may_differ:  # the caller passed arguments
            described = "its configuration and your arguments describe"
        raise ValueError(
            f"{checkpoint.source} doesn't hold the BERT that {described}: {'; '.join(faults)}."
        )
    for name, weight in checkpoint.weights.items():
        if name not in report.matched:
            is_transposed = name in checkpoint.spellings and checkpoint.spellings[name].transposed
            shape = weight.shape[::-1] if is_transposed else weight.shape
            report.left_over[_their_names(checkpoint, name)] = shape
    return report


def _their_names(checkpoint, name):
    return ", ".join(checkpoint.spellings.get(name, Spelling((name,))).names)


def _size(shape):
    return "x".join(map(str, shape)) or "scalar"
