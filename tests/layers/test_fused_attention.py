"""Fused kernels compute what plain attention computes, and are taken where they run."""

import functools
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers import fused_attention
from keras_bert.layers.attention import attention
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.plain_attention import HIDDEN, Visibility, plain_attention

B, S, N, H = 3, 128, 4, 256
rng = np.random.default_rng(7)
VECTORS = rng.normal(size=(3, B, S, N, H // N)).astype("float32")  # queries, keys and values
UPSTREAM = rng.normal(size=(B, S, N, H // N)).astype("float32")
HOLES = np.random.default_rng(8).random((B, S)) < [[0.5], [0.9], [0]]  # one row has no token
HOLES = HOLES.astype("int32")
SEQUENCE_IDS = np.repeat([[1, 1, 2, 3], [1, 2, 0, 0], [1, 1, 1, 1]], S // 4, axis=1).astype("int32")
VISIBLE = {
    "all": {},
    "tokens": {"padding_mask": HOLES},
    "sequences": {"sequence_ids": SEQUENCE_IDS},
    "near tokens": {"padding_mask": HOLES, "window": 40},
    "near of sequences": {"sequence_ids": SEQUENCE_IDS, "window": 20},
}


def reference(padding_mask=None, sequence_ids=None, window=None, factors=1.0):
    """Attention in float64, by NumPy: its value and the gradients of its sum by `UPSTREAM`."""
    query, key, value, upstream = (
        np.float64(x).transpose(0, 2, 1, 3).copy() for x in (*VECTORS, upstream_of(padding_mask))
    )
    hidden = np.zeros((B, 1, 1, S), bool)
    if sequence_ids is not None:
        hidden = (sequence_ids[:, None] != sequence_ids[:, :, None])[:, None]
    elif padding_mask is not None:
        hidden = (padding_mask == 0)[:, None, None]
    if window is not None:
        hidden = hidden | (abs(np.arange(S)[:, None] - np.arange(S)) > window)
    scale = query.shape[-1] ** -0.5
    scores = scale * query @ key.swapaxes(2, 3) + HIDDEN * hidden
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    probabilities = powers / powers.sum(-1, keepdims=True)
    slopes = upstream @ value.swapaxes(2, 3) * factors
    slopes = probabilities * (slopes - (slopes * probabilities).sum(-1, keepdims=True)) * scale
    dropped = probabilities * factors
    gradients = slopes @ key, slopes.swapaxes(2, 3) @ query, dropped.swapaxes(2, 3) @ upstream
    return (dropped @ value).transpose(0, 2, 1, 3), np.transpose(gradients, (0, 1, 3, 2, 4))


def upstream_of(padding_mask):
    """The gradient of the context: no loss reads padding."""
    return UPSTREAM if padding_mask is None else UPSTREAM * padding_mask[:, :, None, None]


def compared(visible, value):
    """Leaves out the last row of masks, which has no token, and padding that sees no token."""
    masks = VISIBLE[visible]
    if "padding_mask" not in masks:
        return value
    seen = masks["padding_mask"][:, :, None, None] if len(masks) > 1 else 1
    return (value * seen)[..., :2, :, :, :]


def jax_value_and_gradient(function, dtype, padding_mask):
    import jax

    value, pull_back = jax.vjp(function, *jax.numpy.asarray(VECTORS, dtype))
    return value, jax.numpy.stack(pull_back(jax.numpy.asarray(upstream_of(padding_mask), dtype)))


def of_cudnn(dtype, **visible):
    """JAX's own kernel in place of cuDNN's, which takes the same arguments."""
    pytest.importorskip("jax")
    from keras_bert.layers.cudnn_attention import cudnn_attention

    own = {"visibility": Visibility(**visible), "implementation": "xla"}

    def attend(*vectors):
        return cudnn_attention(*(each.swapaxes(1, 2) for each in vectors), **own).swapaxes(1, 2)

    return jax_value_and_gradient(attend, dtype, visible.get("padding_mask"))


def of_torch(dtype, padding_mask=None, sequence_ids=None, dropout=None, **others):
    if keras.backend.backend() != "torch":
        pytest.skip("needs the PyTorch backend")
    gradient = ops.convert_to_tensor(upstream_of(padding_mask).astype("float32"))
    padding_mask, sequence_ids = (
        None if array is None else ops.convert_to_tensor(array)
        for array in (padding_mask, sequence_ids)
    )
    vectors = ops.cast(ops.convert_to_tensor(VECTORS), dtype).requires_grad_()
    visibility = Visibility(padding_mask, sequence_ids, **others)
    heads = vectors.transpose(2, 3)
    value = fused_attention.sdpa_attention(*heads, visibility, dropout).transpose(1, 2)
    value.backward(ops.cast(gradient, dtype))
    return value, vectors.grad


TOLERANCES = {"float32": (1e-5, 1e-4), "bfloat16": (2e-2, 2e-2)}  # of values, of gradients
OFTEN = ("near tokens", "near of sequences")  # `test_backends.py` runs all
CASES = [
    pytest.param(visible, "float32", marks=[pytest.mark.slow] * (visible not in OFTEN))
    for visible in VISIBLE
]
CASES.append(pytest.param("near of sequences", "bfloat16", marks=pytest.mark.slow))


@pytest.mark.parametrize(("visible", "dtype"), CASES)
@pytest.mark.parametrize("kernel", [of_cudnn, of_torch])
def test_kernels_agree_with_the_formula(kernel, visible, dtype):
    expected = reference(**VISIBLE[visible])
    for found, wanted, tolerance in zip(
        kernel(dtype, **VISIBLE[visible]), expected, TOLERANCES[dtype], strict=True
    ):
        found = ops.convert_to_numpy(ops.cast(found, "float32"))
        difference = np.abs(compared(visible, found - wanted))
        assert difference.max() <= tolerance * np.abs(wanted).max()
        assert np.isfinite(found).all(), "a row of padding alone stays finite"


@pytest.mark.parametrize("visible", ["tokens", "sequences"])
def test_torch_drops_probabilities_in_training_alone(visible, torch):
    """The values are the identity, so that results are probabilities; then they are others."""
    masks = {name: ops.convert_to_tensor(mask) for name, mask in VISIBLE[visible].items()}
    query, key = ops.convert_to_tensor(VECTORS[:2].swapaxes(2, 3))
    ones = torch.eye(S).expand(B, N, S, S)
    dropout = Dropout(0.25)

    def draw(training=True):
        arguments = {"query": query, "key": key, "value": ones, "dropout": dropout, **masks}
        return ops.convert_to_numpy(attention(**arguments, training=training))[:2]

    expected = ops.convert_to_numpy(plain_attention(query, key, ones, Visibility(**masks)))[:2]
    np.testing.assert_allclose(draw(training=False), expected, atol=1e-6)
    draws = np.stack([draw() for _ in range(40)])
    seen = expected > 1e-6  # the last row sees nothing but padding
    assert abs((draws[:, seen] == 0).mean() - 0.25) < 5 * (0.25 * 0.75 / 40 / seen.sum()) ** 0.5
    deviations = (draws.mean(0) - expected)[seen] / expected[seen] / (0.25 / 0.75 / 40) ** 0.5
    assert abs(deviations.mean()) < 5 / seen.sum() ** 0.5 and abs(deviations.std() - 1) < 0.05

    torch.manual_seed(1)
    factors = np.ones((B, N, S, S))
    factors[:2] = np.where(draw() == 0, 0, 1 / 0.75)
    torch.manual_seed(1)
    found = of_torch("float32", **VISIBLE[visible], dropout=dropout)
    expected = reference(**VISIBLE[visible], factors=factors)
    for own, wanted, tolerance in zip(found, expected, TOLERANCES["float32"], strict=True):
        difference = np.abs(ops.convert_to_numpy(own.detach()) - wanted)[..., :2, :, :, :]
        assert difference.max() <= tolerance * np.abs(wanted).max()


def device(platform, compute_capability=None):
    """A device that this machine hasn't, for `jax_device`."""
    gpu = SimpleNamespace(platform=platform, compute_capability=compute_capability)
    return lambda: gpu


def test_the_kernel_is_chosen_by_device_dtype_and_dropout(monkeypatch, caplog):
    backend = keras.backend.backend()
    vectors = ops.convert_to_tensor(VECTORS[0].swapaxes(1, 2))
    half, short = ops.cast(vectors, "bfloat16"), vectors[:, :, :100]
    dropout = Dropout(0.1)
    choose = functools.partial(fused_attention.fused_kernel, visibility=Visibility())
    fused_attention._warn_of_dropout.cache_clear()
    if backend == "jax":
        from keras_bert.layers.cudnn_attention import cudnn_attention

        with monkeypatch.context() as patches, keras.device("cpu:0"):
            patches.setattr("jax.local_devices", lambda **_: [device("gpu")()])
            assert fused_attention.jax_device().platform == "cpu"
        biased = {"visibility": Visibility(position_bias=vectors)}
        assert choose(half) is None, "nothing on a CPU"
        monkeypatch.setattr(fused_attention, "jax_device", device("tpu"))
        assert choose(half) is None
        monkeypatch.setattr(fused_attention, "jax_device", device("gpu", "8.0"))
        assert choose(vectors) is None, "cuDNN has no float32"
        chosen = choose(half)
        assert chosen is cudnn_attention
        assert choose(half, **biased) is None
    elif backend == "torch":
        sdpa = fused_attention.sdpa_attention
        assert choose(short) is choose(half, dropout=dropout) is sdpa
    else:
        assert choose(half) is choose(half, dropout=dropout) is None
        return
    if backend == "jax":
        assert choose(half, dropout=dropout) is choose(half, dropout=dropout) is None
        [warning] = caplog.messages
        assert "attention_dropout=0" in warning
    keras.config.disable_flash_attention()
    try:
        assert choose(half) is None
    finally:
        keras.config.enable_flash_attention()


@pytest.mark.parametrize(
    "heads, length, capability, has_mask, taken",
    [
        (N, 128, "7.5", False, False),  # before Ampere
        (N, 128, "gfx942", False, False),  # of AMD
        (N, 127, "8.0", False, True),
        (N, 127, "8.0", True, False),  # gradients under a mask
        (64, 128, "9.0", False, False),  # heads of 4
        (1, 128, "8.6", False, False),  # a head of 256
        (1, 128, "10.0", False, True),
    ],
)
def test_cudnn_takes_what_its_gpu_has(jax, heads, length, capability, has_mask, taken):
    from keras_bert.layers.cudnn_attention import fits

    query = jax.numpy.zeros((1, heads, length, H // heads), "bfloat16")
    assert fits(query, device("gpu", capability)(), has_mask) is taken
