"""Arguments of a model that come partly from a source of weights, partly from a caller."""

import inspect

import keras

# What a config says of one model, and not of another that is made like it.
OF_ONE_MODEL = ("name", "trainable", "quantized_layers")


def check_arguments(cls, given, source, saved=None):
    """Raises a ValueError if a `cls` can't be made of what a caller and a source give.

    Args:
        cls: the class.
        given: `{name: value}`, the caller's.
        source: str, what the other arguments come from.
        saved: names of those; None where none is missing.
    """
    names = inspect.signature(cls.__init__).parameters
    unknown = [name for name in given if name not in _accepted(cls)]
    if unknown:
        theirs = [name for name in names if name in _accepted(cls)]
        dtype = ' Set it by keras.config.set_dtype_policy("mixed_bfloat16").'
        raise ValueError(
            f"{cls.__name__} has no argument {', '.join(unknown)}; it has {', '.join(theirs)}."
            + (dtype if "dtype" in unknown else "")
        )
    missing = [
        name
        for name, parameter in names.items()
        if name not in ("self", *given, *(names if saved is None else saved))
        and parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if missing:
        arguments = ", ".join(f"{name}=..." for name in missing)
        raise ValueError(
            f"{cls.__name__} needs {', '.join(missing)}, which {source} doesn't say: give it, "
            f"{cls.__name__}.from_preset(..., {arguments})."
        )


def changed_arguments(saved, given):
    """The saved arguments of a model, with those that a caller gives instead."""
    saved = {name: value for name, value in saved.items() if name not in OF_ONE_MODEL}
    return {**saved, **given}


def _accepted(cls):
    """Names of the arguments that a caller may give; Keras itself takes any, in silence."""
    names = {"name", "trainable"}
    for ancestor in cls.__mro__[: cls.__mro__.index(keras.Model)]:
        names |= inspect.signature(ancestor.__init__).parameters.keys()
    return names - {"self", "args", "kwargs", "inputs", "outputs", "backbone", "preprocessor"}


def check_saves(cls, config):
    """Raises a ValueError if what a preset keeps of a `cls` wouldn't be enough to load it.

    Args:
        cls: the class of a model or a preprocessor.
        config: what its `get_config` gives.
    """
    name = cls.__name__
    if keras.saving.get_registered_object(keras.saving.get_registered_name(cls)) is not cls:
        raise ValueError(
            f"{name} can't be saved, since it couldn't be found when the preset is loaded. "
            "Decorate the class with @keras.saving.register_keras_serializable(package=...)."
        )
    parameters = inspect.signature(cls.__init__).parameters.values()
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    names = [p.name for p in parameters if p.name != "self"]
    missing = [p.name for p in parameters if p.name != "self" and p.name not in config]
    missing = [
        p.name
        for p in parameters
        if p.name in missing and p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    unknown = [] if takes_any else [n for n in config if n not in (*names, *OF_ONE_MODEL)]
    if missing or unknown:
        raise ValueError(
            f"{name} can't be saved: its get_config "
            + " and ".join(
                [f"lacks {', '.join(missing)}"] * bool(missing)
                + [f"has {', '.join(unknown)}, which its constructor doesn't take"] * bool(unknown)
            )
            + ". Let it give every argument of the constructor, under its name."
        )
