"""A model of this library out of another one's weights."""

import logging
from dataclasses import dataclass, field
from importlib.util import find_spec

import keras

from keras_bert.presets.formats.checkpoint import ENCODER_PARTS, Spelling
from keras_bert.training.keras_internals import set_initial_value

logger = logging.getLogger("keras_bert")


@dataclass
class LoadReport:
    """What became of the weights when a model was loaded; printed, it is a table.

    Args:
        source: where they came from.
        matched: `{our name: (shape, the source's names)}`.
        new: `{our name: shape}` of weights that the source lacks, initialised anew.
        left_over: `{the source's name: shape}` of tensors that the model has no place for.
    """

    source: str
    matched: dict = field(default_factory=dict)
    new: dict = field(default_factory=dict)
    left_over: dict = field(default_factory=dict)

    def __str__(self):
        rows = [("weight", "shape", "from")]
        rows += [(name, _size(shape), theirs) for name, (shape, theirs) in self.matched.items()]
        rows += [(name, _size(shape), "initialised anew") for name, shape in self.new.items()]
        rows += [("(left over)", _size(shape), name) for name, shape in self.left_over.items()]
        first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
        lines = [f"{name:<{first}}  {shape:<{second}}  {theirs}" for name, shape, theirs in rows]
        lines.append(
            f"{self.source}: {len(self.matched)} weights matched, {len(self.new)} initialised "
            f"anew, {len(self.left_over)} left over."
        )
        return "\n".join(lines)

    def say(self):
        """Logs what a user should know before the model is used."""
        if self.new:
            logger.warning(
                "%s lacks %s: initialised anew. Train the model before you use what depends on "
                "them.",
                self.source,
                ", ".join(self.new),
            )
        if self.left_over:
            logger.info("%s: not used: %s.", self.source, ", ".join(self.left_over))


def preprocessor_of(checkpoint, lowercase=None):
    """The `BertPreprocessor` that a `Checkpoint` describes, or None where it has no vocabulary.

    Raises:
        ValueError: if its text can't be read here, or its vocabulary is that of another model.
    """
    if "text" in checkpoint.refused:
        raise ValueError(checkpoint.refused["text"])
    check_vocabulary(checkpoint)
    if checkpoint.vocabulary is None or find_spec("tensorflow_text") is None:
        return None
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
    from keras_bert.text.tokenizer import BertTokenizer

    settings = {**checkpoint.tokenizer}
    if lowercase is not None:
        settings["lowercase"] = lowercase
    tokenizer = BertTokenizer(checkpoint.vocabulary, **settings)
    return BertPreprocessor(tokenizer, checkpoint.sequence_length)


def check_vocabulary(checkpoint):
    """Raises a ValueError if a `Checkpoint` has more words than its table has rows."""
    if checkpoint.vocabulary is None:
        return
    words, rows = len(checkpoint.vocabulary), checkpoint.backbone["vocabulary_size"]
    if words > rows:
        raise ValueError(
            f"{checkpoint.source} has a vocabulary of {words} tokens but a table of {rows}: they "
            "belong to different models. Put the vocabulary that the weights were trained with "
            "beside them."
        )
    if words < rows:
        logger.info(
            "%s: %d words, the last %d rows of the table are spare.",
            checkpoint.source,
            words,
            rows - words,
        )


def with_weights(checkpoint, make, head_may_differ=False):
    """A new model with a `Checkpoint`'s weights.

    What the checkpoint holds is read straight into the model, one tensor after the other: no
    random weights are drawn for it, and no second copy is held.

    Args:
        checkpoint: a `Checkpoint`.
        make: a callable that returns a model whose backbone is that of the checkpoint.
        head_may_differ: whether a head of another shape stays new, instead of an error.

    Returns:
        The model; what became of the weights is its `load_report`.

    Raises:
        ValueError: if the encoder isn't matched exactly, a tensor has another shape, or a file is
            broken.
    """
    failures = []

    def value_of(weight):
        def read(shape, dtype):
            try:
                return keras.ops.convert_to_tensor(weight.read(), dtype)
            except Exception as error:  # Keras must get to the end of its list of variables
                failures.append(error)
                return keras.ops.zeros(shape, dtype)

        return read

    with keras.StatelessScope():  # variables get their first values where it ends
        model = make()
        model.load_report = _report(model, checkpoint, head_may_differ)
        for variable in model.weights:
            if variable.path in model.load_report.matched:
                set_initial_value(variable, value_of(checkpoint.weights[variable.path]))
    if failures:
        raise failures[0]
    return model


def _report(model, checkpoint, head_may_differ):
    """The `LoadReport` of what a model takes; raises a ValueError if that isn't its encoder."""
    report = LoadReport(checkpoint.source, left_over={**checkpoint.left_over})
    faults = _unmatched_encoder(model, checkpoint)
    other_task = type(model).__name__ != checkpoint.task  # its head has the names of another's
    for variable in model.weights:
        name, shape = variable.path, tuple(variable.shape)
        weight = checkpoint.weights.get(name)
        if other_task and not name.startswith((*ENCODER_PARTS, "pooler/")):
            weight = None
        if weight is not None and weight.shape == shape:
            theirs = checkpoint.spellings.get(name, Spelling((name,)))
            report.matched[name] = (shape, ", ".join(theirs.names))
        elif weight is None or (head_may_differ and not name.startswith(ENCODER_PARTS)):
            report.new[name] = shape
        else:
            faults.append(f"{name} is {list(weight.shape)} there and {list(shape)} here")
    if faults:
        described = "its configuration describes"
        if head_may_differ:  # for the caller gave arguments
            described = "its configuration and your arguments describe"
        raise ValueError(
            f"{checkpoint.source} doesn't hold the BERT that {described}: {'; '.join(faults)}."
        )
    for name, weight in checkpoint.weights.items():
        if name not in report.matched:
            theirs = checkpoint.spellings.get(name, Spelling((name,)))
            shape = weight.shape[::-1] if theirs.transposed else weight.shape
            report.left_over[", ".join(theirs.names)] = shape
    return report


def _unmatched_encoder(model, checkpoint):
    """Sentences on what the encoder lacks, and on what it has no place for."""
    faults = []
    for variable in model.weights:
        name = variable.path
        if name.startswith(ENCODER_PARTS) and name not in checkpoint.weights:
            theirs = checkpoint.spellings[name].names if name in checkpoint.spellings else (name,)
            faults.append(f"{', '.join(theirs)} is missing, {list(variable.shape)} here")
    for name, shape in checkpoint.left_over.items():
        if name.startswith(("bert.", "bert/")):
            faults.append(f"{name} {list(shape)} has no place")
    return faults


def _size(shape):
    return "x".join(map(str, shape)) or "scalar"
