import numpy as np
from keras import ops

from keras_bert.layers.self_attention import SelfAttention


def softmax(scores):
    shifted = np.exp(scores - scores.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


def reference(x, padding_mask, weights, num_heads):
    """Multi-head attention in float64, a head and a sequence at a time."""
    kernel, bias, output_kernel, output_bias = (
        np.float64(ops.convert_to_numpy(w)) for w in weights
    )
    x = np.float64(x)
    hidden_dim = x.shape[-1]
    width = hidden_dim // num_heads
    outputs = np.zeros_like(x)
    for row, tokens in enumerate(x):
        query, key, value = np.split(tokens @ kernel + bias, 3, axis=-1)
        heads = []
        for head in range(num_heads):
            part = slice(head * width, (head + 1) * width)
            scores = query[:, part] @ key[:, part].T / np.sqrt(width)
            scores[:, ~padding_mask[row]] = -np.inf
            heads.append(softmax(scores) @ value[:, part])
        outputs[row] = np.concatenate(heads, -1) @ output_kernel + output_bias
    return outputs


def test_attention_equals_a_plain_reference(assert_close, randomized):
    x = np.random.default_rng(2).normal(size=(3, 7, 16)).astype("float32")
    layer = SelfAttention(num_heads=4, hidden_dim=16, dropout=0.3)
    layer.build(x.shape)
    randomized(layer)
    padding_mask = np.arange(7) < np.array([[7], [4], [1]])
    expected = reference(x, padding_mask, layer.weights[:4], num_heads=4)
    assert_close(layer(x, padding_mask=padding_mask), expected)


def test_hidden_dim_must_be_a_multiple_of_num_heads(refused):
    refused("hidden_dim=10 and num_heads=4", SelfAttention, num_heads=4, hidden_dim=10)
