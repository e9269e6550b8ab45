"""Arguments of models: from the caller and a source, and in the configs that presets store."""

import inspect
from collections.abc import Iterable
from typing import Any

import keras

from keras_bert.messages import did_you_mean
from keras_bert.saved import with_objects
from keras_bert.training.keras_internals import all_layers, writes_assets

_OF_ONE_MODEL = ("name", "trainable", "quantized_layers")  # entries of a config


def shared_arguments(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the entries of a config that other models made from it share."""
    return {name: value for name, value in config.items() if name not in _OF_ONE_MODEL}


def setting_names(cls: type) -> list[str]:
    """Lists the argument names of a class's preprocessor."""
    preprocessor_class = cls.preprocessor_class()
    return [] if preprocessor_class is None else preprocessor_class.arguments()


def split_arguments(cls: type, arguments: dict[str, Any]) -> tuple[dict, dict]:
    """Splits arguments into those of a class and of its preprocessor; some are in both dicts."""
    names = setting_names(cls)
    parameters = inspect.signature(cls.__init__).parameters
    of_model = {}
    settings = {}
    for name, value in arguments.items():
        if name in names:
            settings[name] = value
        if name not in names or name in parameters:
            of_model[name] = value
    return of_model, settings


def check_known(cls: type, given: Iterable[str], known: Iterable[str], advice: str = "") -> None:
    """Raises a ValueError for arguments that aren't `known`; it lists those, and names alike."""
    unknown = [name for name in given if name not in known]
    if unknown:
        hints = "".join(did_you_mean(name, known, 0.75) for name in unknown)
        raise ValueError(
            f"{cls.__name__} has no argument {', '.join(unknown)}; it has {', '.join(known)}."
            f"{advice}{hints}"
        )


def check_arguments(cls: type, given: dict[str, Any]) -> None:
    """Raises a ValueError for an argument that neither a class nor its preprocessor has."""
    known = sorted({*accepted_arguments(cls), *setting_names(cls)})
    check_known(cls, given, [*known, "preprocessor", "lowercase", "keep_layers", "load_weights"])


def check_passed_on(cls: type, given: Iterable[str], advice: str = "") -> None:
    """Raises a ValueError for arguments that a constructor passes on to Keras, which takes any."""
    passed = [name for name in given if name not in ("name", "dtype")]
    known = [name for name in accepted_arguments(cls) if name not in passed]
    check_known(cls, passed, known, advice)


def check_constructor(cls: type, args: tuple, given: dict[str, Any]) -> None:
    """Raises a ValueError at arguments that look misspelt, and at a task without a backbone.

    Python would only report the right argument as missing, and Keras accepts any other.
    """
    known = [*accepted_arguments(cls), "backbone", "preprocessor", "inputs", "outputs"]
    unknown = [name for name in given if name not in known]
    check_known(cls, [name for name in unknown if did_you_mean(name, known, 0.75)], known)
    takes_backbone = "backbone" in inspect.signature(cls.__init__).parameters
    if takes_backbone and "backbone" not in given and not args:
        raise ValueError(
            f"{cls.__name__} needs a backbone: make one, such as BertBackbone(...), or load the "
            f"model with {cls.__name__}.from_preset(source, ...)."
        )


def check_loads(dtype: Any) -> None:
    """Raises a ValueError if a `dtype` quantizes a layer, which saved floats don't fit."""
    policies = [keras.dtype_policies.get(dtype)]
    if isinstance(policies[0], keras.dtype_policies.DTypePolicyMap):
        policies += policies[0].values()
    if any(policy.quantization_mode is not None for policy in policies):
        raise ValueError(
            "from_preset can't load weights into layers that dtype quantizes: load the model "
            "without that dtype, then call model.quantize(...)."
        )


def split_dtype(arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Splits a task's arguments into the encoder's `dtype`, which its head follows, and others."""
    others = {**arguments}
    precision = {}
    if "dtype" in others:
        precision["dtype"] = others.pop("dtype")
    return precision, others


def check_saves(cls: type, config: dict[str, Any]) -> None:
    """Raises a ValueError if a model or preprocessor couldn't be loaded again from its config."""
    name = cls.__name__
    if keras.saving.get_registered_object(keras.saving.get_registered_name(cls)) is not cls:
        raise ValueError(
            f"{name} can't be saved: loading couldn't find the class, which isn't registered. "
            "Decorate the class with @keras.saving.register_keras_serializable(package=...)."
        )
    arguments = shared_arguments(config)
    try:
        inspect.signature(cls.__init__).bind(cls, **arguments)
        for part in ("backbone", "preprocessor", "tokenizer"):  # which are checked themselves
            arguments.pop(part, None)
        with_objects(arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} can't be saved: loading couldn't make it from its config ({error}). "
            "get_config must return every argument, under its name, and functions and classes "
            "among them must be registered with Keras."
        ) from error


def accepted_arguments(cls: type) -> list[str]:
    """Lists the names of arguments that a caller may give."""
    names = {"name", "trainable", "dtype"}
    for ancestor in cls.__mro__[: cls.__mro__.index(keras.Model)]:
        names |= inspect.signature(ancestor.__init__).parameters.keys()
    made_here = {"inputs", "outputs", "embeddings", "blocks", "head", "backbone", "preprocessor"}
    return sorted(names - {"self", "args", "kwargs", *made_here})


def layers_config(model: keras.Model) -> dict[str, Any]:
    """Returns which layers of `model` are quantized, frozen or adapted by LoRA.

    The weight file loads only into a model with the same layers quantized in the same way. Frozen
    and adapted ones are those of `.keras` files, whose optimizer knows the variables that trained.
    """
    quantized = {}
    for layer in all_layers(model):
        if layer.quantization_mode:
            saved = keras.saving.serialize_keras_object(layer.quantization_config)
            quantized[layer.path] = saved
    config = {}
    if quantized:
        config["quantized_layers"] = quantized
    if not writes_assets():
        return config
    inner = all_layers(model, include_self=False)
    frozen = [layer.path for layer in inner if not layer.trainable]
    if frozen:
        config["frozen_layers"] = frozen
    adapted = [layer for layer in inner if getattr(layer, "lora_enabled", False)]
    if adapted and model.backbone is model and model.adapted:  # by `enable_lora`
        config["lora"] = {"rank": adapted[0].lora_rank, "alpha": adapted[0].lora_alpha}
    return config


def model_from_config(cls: type, config: dict[str, Any]) -> keras.Model:
    """Makes `cls(**config)`, with its layers as `layers_config` described them."""
    config = with_objects(config)
    quantized = config.pop("quantized_layers", {})
    frozen = config.pop("frozen_layers", [])
    lora = config.pop("lora", None)
    model = cls(**config)
    for layer in all_layers(model):
        if layer.path in quantized and layer.quantization_mode is None:
            layer.quantize(config=quantized[layer.path])
    if frozen:
        for layer in all_layers(model, include_self=False):  # outer layers first
            if layer.trainable is (layer.path in frozen):
                layer.trainable = not layer.trainable
    if lora is not None:
        model.enable_lora(**lora)
    return model
