"""The dtype policies of models. A Functional ignores `dtype`, and its layers exist before it."""

import keras
from keras.dtype_policies import DTypePolicyMap

from keras_bert.training.keras_internals import resolve_policies


def own_policy(dtype):
    """Returns the policy of a `dtype` argument.

    A `DTypePolicyMap` is copied, with its default: a layer's new policy enters the map, and a map
    without a default loses the names of its policies when it is saved.
    """
    policy = keras.dtype_policies.get(dtype)
    if policy.quantization_mode is not None:
        raise ValueError(
            f"dtype={policy.name!r} would quantize every layer, even LayerNorm. Call "
            f"model.quantize({policy.quantization_mode!r}), or give a DTypePolicyMap of paths."
        )
    if isinstance(policy, DTypePolicyMap):
        return DTypePolicyMap(policy.default_policy.name, dict(policy))
    return policy


def set_policy(model, dtype, policy):
    """Sets a model's policy, by which `compile` scales losses, and those that a map names."""
    model.dtype_policy = policy
    vars(model)["_given_policy"] = None if dtype is None else policy
    resolve_policies(model)


def policy_config(model):
    """Returns `{"dtype": ...}` for a config, or `{}` for a model that follows the global policy."""
    policy = vars(model).get("_given_policy")
    if policy is None:
        return {}
    is_plain = type(policy) is keras.DTypePolicy
    return {"dtype": policy.name if is_plain else keras.dtype_policies.serialize(policy)}
