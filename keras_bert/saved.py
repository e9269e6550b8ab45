"""What Keras saves of an object of this library: its class by name, and its arguments."""

import inspect
from typing import Any

import keras

registered = keras.saving.register_keras_serializable(package="keras_bert")


def argument_names(cls: type, base: type) -> list[str]:
    """Returns the parameters of the constructors of a class and its ancestors below `base`."""
    ancestors = cls.__mro__[: cls.__mro__.index(base)]
    names = {}
    for ancestor in reversed(ancestors):
        names |= inspect.signature(ancestor.__init__).parameters
    return list(names)


def own_arguments(instance: Any, base: type) -> dict[str, Any]:
    """Returns the arguments of constructors below `base` that it hasn't itself, by attributes.

    A layer is none: a subclass with layers as arguments serializes them in its `get_config`.
    """
    known = {"dtype", *inspect.signature(base.__init__).parameters}
    own = {}
    for name in argument_names(type(instance), base):
        if name not in known and hasattr(instance, name):
            value = getattr(instance, name)
            if not isinstance(value, keras.Layer):
                own[name] = value
    return own


class SavedLayer(keras.layers.Layer):
    """A layer whose arguments are attributes; its config holds them."""

    def get_config(self):
        return {**super().get_config(), **own_arguments(self, SavedLayer)}
