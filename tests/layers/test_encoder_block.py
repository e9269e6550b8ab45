import numpy as np
from keras import ops

from keras_bert.layers.encoder_block import EncoderBlock


def normalize(x, norm):
    gamma, beta = (ops.convert_to_numpy(weight) for weight in (norm.gamma, norm.beta))
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt(x.var(-1, keepdims=True) + 1e-12) * gamma + beta


def test_each_residual_is_added_before_its_norm(assert_close, randomized):
    x = np.random.default_rng(2).normal(size=(2, 5, 8)).astype("float32")
    block = EncoderBlock(num_heads=2, hidden_dim=8, intermediate_dim=16, dropout=0.2)
    block.build(x.shape)
    randomized(block)
    attended = ops.convert_to_numpy(block.attention(x))
    middle = normalize(np.float64(x + attended), block.attention_norm)
    transformed = block.output_dense(block.intermediate_dense(middle.astype("float32")))
    expected = normalize(middle + ops.convert_to_numpy(transformed), block.output_norm)
    assert_close(block(x), expected)


def test_kernels_start_as_a_narrow_truncated_normal():
    block = EncoderBlock(num_heads=2, hidden_dim=64, intermediate_dim=256)
    block.build((None, None, 64))
    for layer in (block.attention.query_key_value, block.intermediate_dense, block.output_dense):
        kernel = ops.convert_to_numpy(layer.kernel)
        assert 0.016 < kernel.std() < 0.019  # 0.88 of 0.02: cut at two deviations
        assert np.abs(kernel).max() <= 0.04
        assert not ops.convert_to_numpy(layer.bias).any()
