"""An encoder block in PyTorch's own functions. B batch, S sequence, H hidden, N heads.

For one text, Keras's Python around the eleven layers of a block takes longer than their products.
"""

import torch
from torch.nn import functional

from keras_bert.layers.attention import attention
from keras_bert.layers.dense_and_norms import Dense, LayerNorm
from keras_bert.layers.self_attention import SelfAttention


def is_plain(block, x):
    """Returns whether `plain_block` does all that an `EncoderBlock` does to `x` without dropout.

    Adapters, int8, other dtypes than float32, hooks of PyTorch's modules and layers that a user put
    in place of ours are Keras's business.
    """
    if x.dtype != torch.float32 or block.dtype_policy.name != "float32":
        return False
    if type(block.attention) is not SelfAttention:
        return False
    if x.device != block.output_norm.gamma.value.device:  # Keras moves it
        return False
    dense = _dense(block)
    if any(type(layer) is not Dense or not layer.use_bias for layer in dense):
        return False
    if any(layer.lora_enabled or layer.quantization_mode for layer in dense):
        return False
    norms = block.attention_norm, block.output_norm
    if any(type(layer) is not LayerNorm for layer in norms):
        return False
    dropouts = block.attended_dropout, block.output_dropout
    parts = (block, block.attention, *dense, *norms, *dropouts)
    return not any(part._forward_hooks or part._forward_pre_hooks for part in parts)


def plain_block(block, x, padding_mask, sequence_ids, position_bias):
    """Computes an `EncoderBlock` that is plain, without dropout, `[B, S, H]`."""
    query_key_value, attended_dense, intermediate_dense, output_dense = _dense(block)
    x = torch.as_tensor(x)
    shape = x.shape
    x = x.reshape(-1, shape[-1])
    heads = _linear(query_key_value, x).view(*shape[:2], 3, block.num_heads, -1)
    query, key, value = heads.permute(2, 0, 3, 1, 4)  # [B, N, S, D] each
    context = attention(
        query=query,
        key=key,
        value=value,
        padding_mask=padding_mask,
        sequence_ids=sequence_ids,
        causal=block.causal,
        position_bias=position_bias,
    )
    attended = _linear(attended_dense, context.transpose(1, 2).reshape(x.shape))
    x = _norm(block.attention_norm, x + attended)
    transformed = intermediate_dense.activation(_linear(intermediate_dense, x))
    return _norm(block.output_norm, x + _linear(output_dense, transformed)).view(shape)


def _dense(block):
    attention = block.attention
    return (
        attention.query_key_value,
        attention.output_dense,
        block.intermediate_dense,
        block.output_dense,
    )


def _linear(dense, x):
    return torch.addmm(dense.bias.value, x, dense.kernel.value)


def _norm(norm, x):
    return functional.layer_norm(x, x.shape[-1:], norm.gamma.value, norm.beta.value, norm.epsilon)
