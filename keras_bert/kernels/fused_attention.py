"""Fused attention kernels, which never write their scores."""

import functools
import logging

import keras

from keras_bert.kernels.visibility import visibility_bias


def may_fuse(query, key, value, visibility, dropout=None, training=False):
    """Returns whether `keras.config.disable_flash_attention()` hasn't turned fused kernels off."""
    return keras.config.is_flash_attention_enabled() is not False


def takes_cudnn(query, key, value, visibility, dropout=None, training=False):
    """Returns whether cuDNN computes attention, which `keras.config.enable_flash_attention()` asks.

    It was compiled for GPUs that it hasn't run on. It adds no `position_bias` and drops nothing.
    """
    is_asked = keras.config.is_flash_attention_enabled()
    if not is_asked or visibility.position_bias is not None:
        return False
    device = jax_device()
    if device.platform != "gpu":
        return False
    from keras_bert.kernels.cudnn_attention import fits

    has_mask = visibility.sequence_ids is not None or visibility.window is not None
    if not fits(query, device, has_mask):
        return False
    if dropout is not None:
        _warn_of_dropout()
    return dropout is None


def by_cudnn(*arguments):
    """Computes attention by cuDNN; see `cudnn_attention`."""
    from keras_bert.kernels.cudnn_attention import cudnn_attention  # which imports JAX

    return cudnn_attention(*arguments)


def jax_device():
    """Returns a device that JAX computes on, of Keras's distribution or of JAX's defaults."""
    import jax

    distribution = keras.distribution.distribution()
    if isinstance(distribution, keras.distribution.DataParallel):
        return distribution.device_mesh.backend_mesh.devices.flat[0]
    chosen = jax.config.jax_default_device  # by `keras.device`: a device, a platform or None
    if chosen is None or isinstance(chosen, str):
        chosen = jax.local_devices(backend=chosen)[0]
    return chosen


def sdpa_attention(query, key, value, visibility, dropout=None, training=False):
    """Computes attention by PyTorch's `scaled_dot_product_attention`; see `attention`.

    Dropout draws from PyTorch's own generator, as it does in all layers without a seed.
    """
    import torch

    bias = visibility_bias(query.shape[2], visibility)  # finite, also for rows of padding
    if bias is not None:
        bias = bias.to(query.dtype)
    kernel = torch.nn.functional.scaled_dot_product_attention
    rate = 0.0 if dropout is None else dropout.rate
    return kernel(query, key, value, attn_mask=bias, dropout_p=rate)


@functools.cache
def _warn_of_dropout():
    logging.getLogger("keras_bert").warning(
        "JAX's flash attention of cuDNN can't drop attention probabilities, so training takes "
        "plain attention, which writes all scores. BertBackbone(attention_dropout=0) trains with "
        "the faster kernel."
    )
