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
            patch.setattr(torch_block, "is_plain", lambda _: False)
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
def test_outputs_and_gradients_are_those_of_the_layers(
    make_block, by_layers, assert_close, arguments, settings
):
    import torch

    block = make_block(**settings)
    found = []
    for call in (block, lambda *args, **kwargs: by_layers(block, *args, **kwargs)):
        x = torch.tensor(X, requires_grad=True)
        outputs = call(x, **arguments)
        [gradient] = torch.autograd.grad(outputs[:, 0].square().sum(), x)
        found.append([outputs.detach().numpy(), gradient.numpy()])
    assert torch_block.is_plain(block)
    for one, other in zip(*found, strict=True):
        assert_close(one, other)


def test_other_blocks_are_left_to_their_layers(make_block):
    assert torch_block.is_plain(make_block())
    assert not torch_block.is_plain(make_block(dtype="mixed_bfloat16"))
    adapted, hooked, quantized = make_block(), make_block(), make_block()
    own = EncoderBlock(2, 16, 32)
    own.attention = type("OwnAttention", (SelfAttention,), {})(2, 16)
    assert not torch_block.is_plain(own)
    adapted.output_dense.enable_lora(2)
    assert not torch_block.is_plain(adapted)
    hook = hooked.attention.register_forward_hook(lambda *_: None)
    assert not torch_block.is_plain(hooked)
    hook.remove()
    assert torch_block.is_plain(hooked)
    quantized.intermediate_dense.quantize("int8")
    assert not torch_block.is_plain(quantized)


def test_a_hook_sees_what_its_layer_computes(make_block, by_layers, assert_close):
    block, seen = make_block(), []
    expected = ops.convert_to_numpy(block(X))
    block.output_norm.register_forward_hook(lambda module, inputs, output: seen.append(output))
    outputs = ops.convert_to_numpy(block(X))
    assert_close(outputs, expected)
    assert_close(ops.convert_to_numpy(seen[0]), outputs)
