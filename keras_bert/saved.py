"""What Keras saves of an object of this library: its class by name, and its arguments."""

import dataclasses
import functools
import inspect
from collections.abc import Iterable
from typing import Any, NamedTuple

import keras
import numpy as np

registered = keras.saving.register_keras_serializable(package="keras_bert")

_MISSING = inspect.Parameter.empty
_OF_KERAS = {*dir(keras.Model), *dir(keras.Optimizer)}


class KeepsArguments:
    """Mixin of a base class: constructors of its subclasses record what they are given."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        record_arguments(cls, KeepsArguments)


def record_arguments(cls: type, base: type) -> None:
    """Has the constructor of a class, but not of a direct subclass of `base`, record arguments."""
    if "__init__" in vars(cls) and base not in cls.__bases__:
        cls.__init__ = _recording(cls.__init__)


class _Record(NamedTuple):
    """What the constructors of an object were given."""

    given: dict[str, Any]  # the arguments of the constructor of its class
    names: dict[str, None]  # of the arguments of all constructors
    fixed: set[str]  # names of ancestors' arguments that its class doesn't take
    stored: dict[str, Any]  # attributes that differ from the argument of their name


def _record(instance):
    return vars(instance).get("__constructed__", _Record({}, {}, set(), {}))


def _recording(init):
    signature = inspect.signature(init)
    spec = inspect.getfullargspec(init)
    named = spec.args + spec.kwonlyargs

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)
        ancestor = _record(self)
        names = ancestor.names
        if dataclasses.is_dataclass(self):  # whose own constructor isn't recorded
            names = dict.fromkeys(field.name for field in dataclasses.fields(self)) | names
        given = signature.bind(self, *args, **kwargs).arguments
        del given[spec.args[0]]
        if given.pop(spec.varargs, ()):  # whose names only the ancestor knows
            given = ancestor.given | given
        given |= given.pop(spec.varkw, {})
        set_here = ancestor.given if spec.varkw else names  # but for those that it was given
        fixed = ancestor.fixed.union(set_here).difference(given, named)
        names = names | dict.fromkeys([*named, *given])
        stored = {}
        for name, argument in given.items():
            value = _attribute(self, name)
            if argument is None and value is not _MISSING:
                continue  # None stands for a default
            if not np.array_equal(argument, value):
                stored[name] = value
        vars(self)["__constructed__"] = _Record(given, names, fixed, stored)

    __init__.__signature__ = signature  # Keras doesn't look for what is wrapped
    return __init__


def _attribute(instance, name):
    """Returns an attribute that isn't one of Keras's methods and properties."""
    if name in _OF_KERAS and name not in vars(instance):
        return _MISSING
    return getattr(instance, name, _MISSING)


def own_arguments(instance: Any, others: Iterable[str] = ()) -> dict[str, Any]:
    """Returns the arguments of an instance's constructors, and others by name, as they are now.

    An argument is the attribute of its name. If there is none, or the constructor stored something
    else that hasn't changed since, it is what the constructor was given.
    """
    record = _record(instance)
    own = {}
    for name in [*others, *record.names]:
        value = _attribute(instance, name)
        if name in record.stored and np.array_equal(value, record.stored[name]):
            value = record.given[name]
        if value is not _MISSING:
            own[name] = value
    return own


def saved_arguments(instance: Any, own: dict[str, Any]) -> dict[str, Any]:
    """Serializes `own_arguments`, but for those of ancestors that the class doesn't take."""
    fixed = _record(instance).fixed
    if vars(instance).get("_given_policy") is not None:  # which `policy_config` saves
        fixed = {*fixed, "dtype"}  # Keras would take the names of policies out of the user's map
    saved = {name: value for name, value in own.items() if name not in fixed}
    return keras.saving.serialize_keras_object(saved)


def with_objects(config: dict[str, Any]) -> dict[str, Any]:
    """Returns a config with the objects that were serialized for it."""
    objects = {}
    for name, value in config.items():
        if isinstance(value, (dict, list)):  # a str may be the name of a registered class
            value = keras.saving.deserialize_keras_object(value)
        objects[name] = value
    return objects


class Saved(KeepsArguments):
    """Mixin of a class of Keras's, whose config also holds the arguments of subclasses."""

    def get_config(self):
        own = saved_arguments(self, own_arguments(self))
        return {**own, **super().get_config()}

    @classmethod
    def from_config(cls, config, **kwargs):
        return super().from_config(with_objects(config), **kwargs)


class SavedLayer(Saved, keras.layers.Layer):
    """A layer whose config holds its arguments."""
