"""Arguments that come partly from a source and partly from the caller: checks and merging."""

import difflib
import inspect
from collections.abc import Iterable
from typing import Any

import keras

# Entries of a config that belong to one model, not to other models made from its config.
OF_ONE_MODEL = ("name", "trainable", "quantized_layers")


def check_arguments(
    cls: type,
    given: dict[str, Any],
    source: object,
    saved: Iterable[str] | None = None,
    settings: Iterable[str] = (),
) -> None:
    """Raises a ValueError if a `cls` can't be made from the caller's and the source's arguments.

    Args:
        cls: the class.
        given: `{name: value}`, the caller's arguments.
        source: the name of the source that gives the other arguments.
        saved: names of the source's arguments; None if it gives all of them.
        settings: names of the preprocessor's arguments, for the message.
    """
    names = inspect.signature(cls.__init__).parameters
    unknown = [name for name in given if name not in _accepted(cls)]
    if unknown:
        theirs = [name for name in names if name in _accepted(cls)]
        theirs += [name for name in settings if name not in theirs]
        raise ValueError(
            f"{cls.__name__} has no argument {', '.join(unknown)}; it has {', '.join(theirs)}."
            + did_you_mean(unknown, theirs)
        )
    theirs = names if saved is None else saved
    missing = [name for name in _required(cls) if name not in given and name not in theirs]
    if missing:
        arguments = ", ".join(f"{name}=..." for name in missing)
        raise ValueError(
            f"{cls.__name__} needs {', '.join(missing)}, which {source} doesn't define: pass it, "
            f"{cls.__name__}.from_preset(..., {arguments})."
        )


def did_you_mean(unknown: Iterable[str], names: Iterable[str]) -> str:
    """Returns a sentence with the names that unknown ones are most like, or "".

    Example:
    >>> did_you_mean(["num_clases"], ["num_classes", "dropout"])
    ' Did you mean num_classes?'
    """
    found = [difflib.get_close_matches(name, list(names), 1, cutoff=0.75) for name in unknown]
    found = ", ".join(match[0] for match in found if match)
    return f" Did you mean {found}?" if found else ""


def check_spelling(cls: type, given: dict[str, Any]) -> None:
    """Raises a ValueError at arguments of a constructor that look like misspelt ones.

    Python would only report the right argument as missing, and Keras accepts any other.
    """
    names = _accepted(cls) | {"backbone", "preprocessor", "inputs", "outputs", "dtype"}
    unknown = [name for name in given if name not in names]
    if suggestion := did_you_mean(unknown, names):
        raise ValueError(f"{cls.__name__} has no argument {', '.join(unknown)}.{suggestion}")


def changed_arguments(saved: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Replaces saved arguments of a model with those that the caller gives."""
    saved = {name: value for name, value in saved.items() if name not in OF_ONE_MODEL}
    return {**saved, **given}


def check_loads(dtype: Any) -> None:
    """Raises a ValueError if a `dtype` quantizes a layer, which saved floats don't fit."""
    if dtype is None:
        return
    policy = keras.dtype_policies.get(dtype)
    parts = [*policy.values()] if isinstance(policy, keras.dtype_policies.DTypePolicyMap) else []
    if any(part.quantization_mode is not None for part in (policy, *parts)):
        raise ValueError(
            "from_preset can't load weights into layers that dtype quantizes: load the model "
            "without that dtype, then call model.quantize(...)."
        )


def split_dtype(arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Splits a task's arguments into the encoder's `dtype`, which its head follows, and others."""
    others = {name: value for name, value in arguments.items() if name != "dtype"}
    return {n: v for n, v in arguments.items() if n == "dtype"}, others


def _required(cls):
    """Lists the arguments of a class's constructor that have no default."""
    parameters = [*inspect.signature(cls.__init__).parameters.values()][1:]
    any_number = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in any_number]


def _accepted(cls):
    """Lists the names of arguments that a caller may give; Keras itself silently accepts any."""
    names = {"name", "trainable"}
    for ancestor in cls.__mro__[: cls.__mro__.index(keras.Model)]:
        names |= inspect.signature(ancestor.__init__).parameters.keys()
    return names - {"self", "args", "kwargs", "inputs", "outputs", "backbone", "preprocessor"}


def check_keras_arguments(cls: type, given: dict[str, Any]) -> None:
    """Raises a ValueError for arguments of a task that Keras would silently ignore."""
    unknown = [name for name in given if name not in ("name", "trainable")]
    if unknown:
        kind = f"{cls.__name__}Preprocessor"
        raise ValueError(
            f"{cls.__name__} has no argument {', '.join(unknown)}. Settings for text, labels or "
            f"answers are arguments of its preprocessor, such as {kind}(tokenizer, ...)."
        )


def check_saves(cls: type, config: dict[str, Any]) -> None:
    """Raises a ValueError if a model or preprocessor couldn't be loaded again from its config."""
    name = cls.__name__
    if keras.saving.get_registered_object(keras.saving.get_registered_name(cls)) is not cls:
        raise ValueError(
            f"{name} can't be saved: loading couldn't find the class, which isn't registered. "
            "Decorate the class with @keras.saving.register_keras_serializable(package=...)."
        )
    names = inspect.signature(cls.__init__).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in names.values())
    missing = [n for n in _required(cls) if n not in config]
    unknown = [] if takes_any else [n for n in config if n not in (*names, *OF_ONE_MODEL)]
    if missing or unknown:
        raise ValueError(
            f"{name} can't be saved: its get_config "
            + " and ".join(
                [f"lacks {', '.join(missing)}"] * bool(missing)
                + [f"has {', '.join(unknown)}, which its constructor doesn't take"] * bool(unknown)
            )
            + ". It must return every argument of the constructor, under its name."
        )
