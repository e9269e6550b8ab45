"""Builds the preprocessor of a source, with settings that the caller changes."""

import inspect
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_bert.presets.formats.checkpoint import Checkpoint
from keras_bert.presets.load_checkpoint import preprocessor_of
from keras_bert.presets.preset_folder import public_class, saved_class, saved_preprocessor

if TYPE_CHECKING:  # needs TensorFlow Text
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor

TEXT_SETTINGS = ("sequence_length", "truncation")


def split_arguments(cls: type, arguments: dict[str, Any]) -> tuple[dict, dict]:
    """Splits a class's arguments into those of the model and those of its preprocessor.

    An argument that both have is in both.
    """
    if not hasattr(cls, "preprocessor_class"):
        return arguments, {}
    kind = _kind(cls)
    theirs = TEXT_SETTINGS if kind is None else kind.arguments()
    own = inspect.signature(cls.__init__).parameters
    model = {n: v for n, v in arguments.items() if n not in theirs or n in own}
    return model, {n: v for n, v in arguments.items() if n in theirs}


def preprocessor_from(
    source: Path | Checkpoint,
    cls: type | None,
    given: "BertPreprocessor | None",
    settings: dict[str, Any],
    num_classes: int | None = None,
    kind: "type[BertPreprocessor] | None" = None,
) -> "BertPreprocessor | None":
    """Makes the preprocessor of a model that is loaded, or None if there is no vocabulary.

    Args:
        source: a `Path` of a preset, or a `Checkpoint`.
        cls: the class of the model, or None.
        given: the caller's preprocessor, or None.
        settings: the caller's arguments of the preprocessor's class, and `lowercase`.
        num_classes: the caller's number of classes, or None.
        kind: the class of preprocessor; None takes that of the model.

    Raises:
        ValueError: if a setting is unknown, or a file of the source is missing or damaged.
    """
    if find_spec("tensorflow_text") is None:  # the model works, but reads no text
        return given
    settings = {**settings}
    lowercase = settings.pop("lowercase", None)
    if kind is None:
        kind = _kind(cls or _class_of(source))
    unknown = [name for name in settings if name not in kind.arguments()]
    if unknown:
        raise ValueError(
            f"{kind.__name__} has no argument {', '.join(unknown)}; it has "
            f"{', '.join(kind.arguments())}."
        )
    if given is not None:
        return kind.like(given, **settings) if settings else given
    is_own = isinstance(source, Path)
    found = saved_preprocessor(source, lowercase) if is_own else preprocessor_of(source, lowercase)
    if found is None:
        return None
    if not is_own and cls is not None and cls.__name__ == source.task:
        saved = {n: v for n, v in source.task_arguments.items() if n in kind.arguments()}
        found = kind.like(found, **saved)
    names = getattr(found, "label_names", None)
    if names is not None and num_classes not in (None, len(names)):
        settings.setdefault("label_names", None)
    is_same = cls is None or (is_own and cls is saved_class(source))
    kind = type(found) if is_same and isinstance(found, kind) else kind
    return found if type(found) is kind and not settings else kind.like(found, **settings)


def _kind(cls):
    """Returns a task's class of preprocessor, or None if TensorFlow Text is missing."""
    return None if find_spec("tensorflow_text") is None else cls.preprocessor_class()


def _class_of(source):
    if isinstance(source, Path):
        cls = saved_class(source)
        return cls if hasattr(cls, "preprocessor_class") else public_class("BertEmbedder")
    return public_class("BertTask")
