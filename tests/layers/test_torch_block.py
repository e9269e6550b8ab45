"""PyTorch's own functions compute what an encoder block's layers do."""

import importlib

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.self_attention import SelfAttention

if keras.backend.backend() != "torch":
    pytest.skip("needs the PyTorch backend", allow_module_level=True)
torch_block = importlib.import_module("keras_bert.layers.torch_block")

X = np.random.default_rng(0).normal(size=(3, 5, 16)).astype("float32")
IS_TOKEN = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]])
SEQUENCES = np.array([[1, 1, 2, 2, 0], [1, 1, 1, 1, 1], [1, 2, 3, 0, 0]])
BIAS = np.random.default_rng(1).normal(size=(1, 2, 5, 5)).astype("float32")


def is_plain(block, x=X):
    return torch_block.is_plain(block, ops.convert_to_tensor(x))


@pytest.fixture
def make_block(randomized):
    def make(**arguments):
        block = EncoderBlock(2, 16, 32, **arguments)
        block.build(X.shape)
        return randomized(block)

    return make


@pytest.fixture
def by_layers(monkeypatch):
    """Computes a block by its layers."""

    def call(block, *arguments, **options):
        with monkeypatch.context() as patch:
            patch.setattr(torch_block, "is_plain", lambda *_: False)
            return block(*arguments, **options)

    return call


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"padding_mask": IS_TOKEN},
        {"sequence_ids": SEQUENCES},
        {"padding_mask": IS_TOKEN, "position_bias": BIAS},
    ],
    ids=lambda arguments: "+".join(arguments) or "alone",
)
@pytest.mark.parametrize("settings", [{}, {"causal": True}, {"activation": "relu"}])
@pytest.mark.parametrize("training", [None, False])
def test_outputs_and_gradients_are_those_of_the_layers(
    make_block, by_layers, assert_close, arguments, settings, training
):
    import torch

    block = make_block(**settings)
    found = []
    for call in (block, lambda *args, **kwargs: by_layers(block, *args, **kwargs)):
        x = torch.tensor(X, requires_grad=True)
        outputs = call(x, **arguments, training=training)
        [gradient] = torch.autograd.grad(outputs[:, 0].square().sum(), x)
        found.append([outputs.detach().numpy(), gradient.numpy()])
    assert is_plain(block)
    for one, other in zip(*found, strict=True):
        assert_close(one, other)


def test_other_blocks_are_left_to_their_layers(make_block):
    assert is_plain(make_block())
    assert not is_plain(make_block(dtype="mixed_bfloat16"))
    elsewhere = ops.convert_to_tensor(X).to("meta")
    assert not torch_block.is_plain(make_block(), elsewhere)
    adapted, hooked, quantized = make_block(), make_block(), make_block()
    own = EncoderBlock(2, 16, 32)
    own.attention = type("OwnAttention", (SelfAttention,), {})(2, 16)
    assert not is_plain(own)
    adapted.output_dense.enable_lora(2)
    assert not is_plain(adapted)
    hook = hooked.attention.register_forward_hook(lambda *_: None)
    assert not is_plain(hooked)
    hook.remove()
    assert is_plain(hooked)
    quantized.intermediate_dense.quantize("int8")
    assert not is_plain(quantized)


def test_a_hook_sees_what_its_layer_computes(make_block, by_layers, assert_close):
    block, seen = make_block(), []
    expected = ops.convert_to_numpy(block(X))
    block.output_norm.register_forward_hook(lambda module, inputs, output: seen.append(output))
    outputs = ops.convert_to_numpy(block(X))
    assert_close(outputs, expected)
    assert_close(ops.convert_to_numpy(seen[0]), outputs)


def test_what_is_called_without_keras_is_called_as_with_it(make_block, by_layers, assert_close):
    # `training=False` skips Keras's own part of a call, which builds, casts and runs hooks.
    block = make_block()
    expected = by_layers(block, X, training=False)
    assert_close(block(ops.convert_to_tensor(X, "float64"), training=False), expected)
    assert_close(block(X, training=False), expected)
    seen = []
    block.register_forward_hook(lambda module, inputs, output: seen.append(output))
    block(ops.convert_to_tensor(X), training=False)
    assert_close(seen[0], expected)
    new = EncoderBlock(2, 16, 32)
    assert new(ops.convert_to_tensor(X), training=False).shape == X.shape
