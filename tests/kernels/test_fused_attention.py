"""Fused kernels compute what plain attention computes, and are taken where they run."""

import functools
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.kernels import fused_attention
from keras_bert.kernels.visibility import HIDDEN, Visibility
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.scaled_attention import attention, plain_attention
from tests.marks import slow

B, N, S, D = 3, 4, 128, 64
rng = np.random.default_rng(7)
VECTORS = rng.normal(size=(3, B, N, S, D)).astype("float32")  # queries, keys and values
UPSTREAM = rng.normal(size=(B, N, S, D)).astype("float32")
# One row has no token.
HOLES = np.random.default_rng(8).random((B, S)) < [
    [0.5],
    [0.9],
    [0],
]
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
    query, key, value = np.float64(VECTORS)
    hidden = np.zeros((B, 1, 1, S), bool)
    if sequence_ids is not None:
        hidden = (sequence_ids[:, None] != sequence_ids[:, :, None])[:, None]
    elif padding_mask is not None:
        hidden = (padding_mask == 0)[:, None, None]
    if window is not None:
        hidden = hidden | (abs(np.arange(S)[:, None] - np.arange(S)) > window)
    scale = D**-0.5
    scores = scale * query @ key.swapaxes(2, 3) + HIDDEN * hidden
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    probabilities = powers / powers.sum(-1, keepdims=True)
    upstream = upstream_of(padding_mask)
    slopes = upstream @ value.swapaxes(2, 3) * factors
    slopes = probabilities * (slopes - (slopes * probabilities).sum(-1, keepdims=True)) * scale
    dropped = probabilities * factors
    gradients = (
        slopes @ key,
        slopes.swapaxes(2, 3) @ query,
        dropped.swapaxes(2, 3) @ upstream,
    )
    return dropped @ value, *gradients


def upstream_of(padding_mask):
    """The gradient of the context: no loss reads padding."""
    return UPSTREAM if padding_mask is None else UPSTREAM * padding_mask[:, None, :, None]


def visibility_of(visible):
    """The masks as tensors of the backend."""
    masks = {**VISIBLE[visible]}
    window = masks.pop("window", None)
    return Visibility(**{n: ops.convert_to_tensor(m) for n, m in masks.items()}, window=window)


def plain(visible):
    return functools.partial(plain_attention, visibility=visibility_of(visible), training=True)


def cudnn(visible):
    """JAX's own kernel in place of cuDNN's, which takes the same arguments."""
    pytest.importorskip("jax")
    from keras_bert.kernels.cudnn_attention import cudnn_attention

    visibility = Visibility(**VISIBLE[visible])
    return functools.partial(cudnn_attention, visibility=visibility, implementation="xla")


def sdpa(visible, dropout=None):
    if keras.backend.backend() != "torch":
        pytest.skip("needs the PyTorch backend")
    visibility = visibility_of(visible)
    return functools.partial(fused_attention.sdpa_attention, visibility=visibility, dropout=dropout)


# Of values, of gradients.
TOLERANCES = {
    "float32": (1e-5, 1e-4),
    "bfloat16": (2e-2, 2e-2),
}
OFTEN = ("near tokens", "near of sequences")  # `test_backends.py` runs all
CASES = [(visible, "float32") for visible in OFTEN]
CASES += [slow(visible, "float32") for visible in VISIBLE if visible not in OFTEN]
CASES.append(slow("near of sequences", "bfloat16"))


@pytest.fixture
def assert_formula(value_and_gradients):
    """Asserts that a kernel's value and gradients are those of `reference`."""

    def check(kernel, visible, dtype="float32", backend=None, **factors):
        masks = VISIBLE[visible]
        upstream = upstream_of(masks.get("padding_mask"))
        found = value_and_gradients(kernel, dtype, upstream, *VECTORS, backend=backend)
        of_values, of_gradients = TOLERANCES[dtype]
        tolerances = of_values, *[of_gradients] * 3
        expected = reference(**masks, **factors)
        for own, wanted, tolerance in zip(found, expected, tolerances, strict=True):
            difference = np.abs(own - wanted)[: 2 if "padding_mask" in masks else 3]
            assert difference.max() <= tolerance * np.abs(wanted).max()
            assert np.isfinite(own).all(), "a row of padding alone stays finite"

    return check


@pytest.mark.parametrize(("visible", "dtype"), CASES)
@pytest.mark.parametrize("kernel", [plain, cudnn, sdpa])
def test_kernels_agree_with_the_formula(assert_formula, kernel, visible, dtype):
    backend = "jax" if kernel is cudnn else None
    assert_formula(kernel(visible), visible, dtype, backend)


@pytest.mark.parametrize("visible", ["tokens", "sequences"])
def test_torch_drops_probabilities_in_training_alone(assert_formula, visible, torch):
    """The values are the identity, so that results are probabilities; then they are others."""
    visibility = visibility_of(visible)
    query, key = ops.convert_to_tensor(VECTORS[:2])
    ones = torch.eye(S).expand(B, N, S, S)
    dropout = Dropout(0.25)

    def draw(training=True):
        arguments = {"query": query, "key": key, "value": ones, "dropout": dropout}
        arguments |= {"padding_mask": visibility[0], "sequence_ids": visibility[1]}
        return ops.convert_to_numpy(attention(**arguments, training=training))

    expected = ops.convert_to_numpy(plain_attention(query, key, ones, visibility))[:2]
    np.testing.assert_allclose(draw(training=False)[:2], expected, atol=1e-6)
    seen = expected > 1e-6  # the last row sees nothing but padding
    first, second = (draw()[:2][seen] / expected[seen] for _ in range(2))
    for factors in (first, second):
        is_dropped = factors == 0
        assert abs(is_dropped.mean() - 0.25) < 5 * (0.25 * 0.75 / seen.sum()) ** 0.5
        np.testing.assert_allclose(factors[~is_dropped], 1 / 0.75, rtol=1e-4)
    assert np.any(first != second)

    torch.manual_seed(1)
    factors = np.where(draw() == 0, 0, 1 / 0.75)
    torch.manual_seed(1)
    assert_formula(sdpa(visible, dropout), visible, factors=factors)


def device(platform, compute_capability=None):
    """A device that this machine hasn't, for `jax_device`."""
    gpu = SimpleNamespace(platform=platform, compute_capability=compute_capability)
    return lambda: gpu


def test_the_kernel_is_chosen_by_device_dtype_and_dropout(monkeypatch, caplog):
    vectors = ops.convert_to_tensor(VECTORS[0])
    half = ops.cast(vectors, "bfloat16")
    dropout = Dropout(0.1)
    enabled = keras.config.is_flash_attention_enabled

    def takes(takes, query=half, bias=None, dropout=None):
        return takes(query, query, query, Visibility(position_bias=bias), dropout)

    assert takes(fused_attention.may_fuse)
    monkeypatch.setattr(keras.config, "is_flash_attention_enabled", lambda: False)
    assert not takes(fused_attention.may_fuse)
    if keras.backend.backend() != "jax":
        return
    monkeypatch.setattr(keras.config, "is_flash_attention_enabled", enabled)
    with monkeypatch.context() as patches, keras.device("cpu:0"):
        patches.setattr("jax.local_devices", lambda **_: [device("gpu")()])
        assert fused_attention.jax_device().platform == "cpu"
    cudnn = functools.partial(takes, fused_attention.takes_cudnn)
    monkeypatch.setattr(fused_attention, "jax_device", device("gpu", "8.0"))
    assert not cudnn(), "it has run on no GPU, so a user has to ask for it"
    monkeypatch.setattr(keras.config, "is_flash_attention_enabled", lambda: True)
    assert cudnn()
    assert not cudnn(vectors), "cuDNN has no float32"
    assert not cudnn(bias=vectors)
    fused_attention._warn_of_dropout.cache_clear()
    assert not cudnn(dropout=dropout) and not cudnn(dropout=dropout)
    [warning] = caplog.messages
    assert "attention_dropout=0" in warning
    for platform in ("tpu", "cpu"):
        monkeypatch.setattr(fused_attention, "jax_device", device(platform))
        assert not cudnn()


def test_cudnn_takes_what_its_gpu_has():
    jax = pytest.importorskip("jax")
    from keras_bert.kernels.cudnn_attention import fits

    for width, length, capability, has_mask, taken in (
        (64, 128, "7.5", False, False),  # before Ampere
        (64, 128, "gfx942", False, False),  # of AMD
        (64, 127, "8.0", False, True),
        (64, 127, "8.0", True, False),  # gradients under a mask
        (4, 128, "9.0", False, False),
        (256, 128, "8.6", False, False),
        (256, 128, "10.0", False, True),
    ):
        query = jax.numpy.zeros((1, 1, length, width), "bfloat16")
        found = fits(query, device("gpu", capability)(), has_mask)
        assert found is taken, (width, length, capability)
