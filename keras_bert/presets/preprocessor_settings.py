"""Construction of a source's preprocessor, with settings that the caller changes."""

import inspect
import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from keras_bert.presets.formats.checkpoint import Checkpoint
from keras_bert.presets.load_checkpoint import naming, preprocessor_of
from keras_bert.presets.preset_arguments import did_you_mean
from keras_bert.presets.preset_folder import PresetFolder, public_class

if TYPE_CHECKING:  # needs TensorFlow Text
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor

logger = logging.getLogger("keras_bert")

TEXT_SETTINGS = ("sequence_length", "truncation")


def split_arguments(cls: type, arguments: dict[str, Any]) -> tuple[dict, dict]:
    """Splits a class's arguments into model arguments and preprocessor arguments.

    An argument that both accept is in both dicts.
    """
    theirs = setting_names(cls)
    own = inspect.signature(cls.__init__).parameters
    model = {n: v for n, v in arguments.items() if n not in theirs or n in own}
    return model, {n: v for n, v in arguments.items() if n in theirs}


def setting_names(cls: type) -> list[str]:
    """Lists the argument names of a class's preprocessor."""
    if not hasattr(cls, "preprocessor_class"):
        return []
    kind = _kind(cls)
    return list(TEXT_SETTINGS) if kind is None else kind.arguments()


def preprocessor_from(
    source: PresetFolder | Checkpoint,
    cls: type | None,
    given: "BertPreprocessor | None",
    settings: dict[str, Any],
    num_classes: int | None = None,
    kind: "type[BertPreprocessor] | None" = None,
) -> "BertPreprocessor | None":
    """Makes the preprocessor for a loaded model, or returns None if there is no vocabulary.

    Args:
        source: a preset or a `Checkpoint`.
        cls: the class of the model, or None.
        given: the caller's preprocessor, or None.
        settings: the caller's arguments for the preprocessor's class, and `lowercase`.
        num_classes: the caller's number of classes, or None.
        kind: the preprocessor class; None takes the model's.

    Raises:
        ValueError: if a setting is unknown, or a file of the source is missing or damaged.
    """
    if find_spec("tensorflow_text") is None:  # the model works, but reads no text
        return given
    settings = {**settings}
    lowercase = settings.pop("lowercase", None)
    its_kind, saved = _task_settings(source)
    if kind is None:
        kind = its_kind if cls is None else _kind(cls)
    unknown = [name for name in settings if name not in kind.arguments()]
    if unknown:
        raise ValueError(
            f"{kind.__name__} has no argument {', '.join(unknown)}; it has "
            f"{', '.join(kind.arguments())}.{did_you_mean(unknown, kind.arguments())}"
        )
    if isinstance(given, kind):
        return type(given).like(given, **settings) if settings else given
    text = _text_settings(source, lowercase) if given is None else given
    if text is None:
        if saved:
            logger.warning(
                "%s has no vocabulary, so its preprocessor's settings were left out: %s. Give "
                "preprocessor=BertPreprocessor(tokenizer) to keep them.",
                getattr(source, "source", source),
                ", ".join(f"{name}={value!r}" for name, value in saved.items()),
            )
        return None
    if cls is None or _holds(source, cls):  # another task takes over only the text settings
        kind = its_kind if issubclass(its_kind, kind) else kind
        if issubclass(kind, its_kind):
            if num_classes not in (None, len(saved.get("label_names") or [])):
                saved.pop("label_names", None)
            settings = {**saved, **settings}
    with naming(getattr(source, "source", source)):
        return kind.like(text, **settings)


def _task_settings(source):
    """Returns `(class, settings)` of a source's preprocessor, without its text settings."""
    if isinstance(source, PresetFolder):
        kind, settings = source.settings
    else:
        kind, settings = _kind(public_class(source.task or "BertTask")), source.task_arguments
    names = [name for name in kind.arguments() if name not in TEXT_SETTINGS]
    return kind, {name: settings[name] for name in names if name in settings}


def _text_settings(source, lowercase):
    """Makes a `BertPreprocessor` with a source's text settings, or None without a vocabulary."""
    if isinstance(source, PresetFolder):
        return source.text_preprocessor(lowercase)
    return preprocessor_of(source, lowercase)


def _holds(source, cls):
    """Returns whether a source holds a model of this class."""
    if isinstance(source, PresetFolder):
        return cls is source.model_class
    return cls.__name__ == source.task


def _kind(cls):
    """Returns a task's preprocessor class, or None if TensorFlow Text is missing."""
    return None if find_spec("tensorflow_text") is None else cls.preprocessor_class()
