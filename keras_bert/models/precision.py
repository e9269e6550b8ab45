"""The dtype policies of models. A Functional ignores `dtype`, and its layers exist before it."""

from typing import Any

import keras
from keras.dtype_policies import DTypePolicyMap


def own_policy(dtype: Any) -> keras.DTypePolicy:
    """Returns the policy of a `dtype` argument.

    A `DTypePolicyMap` is copied, because `quantize` adds entries to the map of a model's layers.

    Args:
        dtype: a name, a `keras.DTypePolicy`, a config of one, or None for the global policy.

    Raises:
        ValueError: if it is a policy that quantizes every layer.
    """
    policy = keras.dtype_policies.get(dtype)
    if policy.quantization_mode is not None:
        raise ValueError(
            f"dtype={policy.name!r} would quantize every layer, but LayerNorm and dropout can't be "
            f"quantized. Call model.quantize({policy.quantization_mode!r}), or give a "
            "keras.dtype_policies.DTypePolicyMap of layers' paths."
        )
    if isinstance(policy, DTypePolicyMap):
        return DTypePolicyMap(policy.default_policy.name, dict(policy))
    return policy


def head_policy(dtype: Any, backbone: keras.Model) -> keras.DTypePolicy:
    """Returns the policy of a task's head: that of its backbone if `dtype` is None."""
    return own_policy(backbone.dtype_policy if dtype is None else dtype)


def policy_config(policy: keras.DTypePolicy | None) -> dict[str, str | dict]:
    """Returns `{"dtype": ...}` for a config, or `{}` for a model that follows the global policy."""
    if policy is None:
        return {}
    is_plain = type(policy) is keras.DTypePolicy
    return {"dtype": policy.name if is_plain else keras.dtype_policies.serialize(policy)}


def quantizes(dtype: Any) -> bool:
    """Returns whether a `dtype` argument quantizes a layer."""
    policy = keras.dtype_policies.get(dtype)
    parts = policy.values() if isinstance(policy, DTypePolicyMap) else [policy]
    return any(part.quantization_mode is not None for part in parts)
