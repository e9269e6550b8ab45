"""Fused attention kernels, which never write their scores, and the choice among them."""

import functools

import keras

from keras_bert.layers.plain_attention import visibility_bias
from keras_bert.messages import logger


def fused_kernel(query, visibility, dropout=None):
    """Chooses the fused kernel for the device that computes.

    | backend | device | kernel | dropout |
    |---|---|---|---|
    | JAX | GPU, from Ampere | `cudnn_attention`, in bfloat16 and float16 | no |
    | PyTorch | all | `sdpa_attention` | yes |

    cuDNN's takes no `position_bias`. `keras.config.disable_flash_attention()` turns both off. The
    kernel has the arguments of `plain_attention`; it is None where only that runs.
    """
    if keras.config.is_flash_attention_enabled() is False:
        return None
    backend = keras.backend.backend()
    if backend == "torch":
        return sdpa_attention
    if backend == "jax" and visibility.position_bias is None:
        return _jax_kernel(query, visibility, dropout)
    return None


def _jax_kernel(query, visibility, dropout):
    device = jax_device()
    if device.platform != "gpu":
        return None
    from keras_bert.layers.cudnn_attention import cudnn_attention, fits

    has_mask = visibility.sequence_ids is not None or visibility.window is not None
    if not fits(query, device, has_mask):
        return None
    if dropout is None:
        return cudnn_attention
    _warn_of_dropout()
    return None


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
    logger.warning(
        "JAX's flash attention of cuDNN can't drop attention probabilities, so training takes "
        "plain attention, which writes all scores. BertBackbone(attention_dropout=0) trains with "
        "the faster kernel."
    )
