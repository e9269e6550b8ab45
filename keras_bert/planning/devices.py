"""TPUs and GPUs with their published rates."""

import math
import re
from importlib.resources import files
from typing import NamedTuple

GIB = 2**30
_2D_SLICES = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_3D_SLICES = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "8x8x8")
_RESERVED = 0.75  # the share of a GPU's memory that JAX reserves (XLA_PYTHON_CLIENT_MEM_FRACTION)


class Chip(NamedTuple):
    """A kind of TPU or GPU.

    libtpu 0.0.52 reports the `available_bytes` of TPUs, which aren't published.
    """

    flops_per_second: float  # peak rate of dense bfloat16 operations
    bytes_per_second: float  # peak rate between the chip and its HBM
    hbm: str
    available_bytes: float
    slices: tuple[str, ...] = ()  # of TPUs
    topology_options: dict = {}
    gpu_target: str = ""  # how XLA describes a GPU


def _described(name):
    return files("keras_bert.planning").joinpath(f"{name}.txtpb").read_text(encoding="utf-8")


# TPUs: https://cloud.google.com/tpu/docs/v4, and the same pages for v5e, v5p and v6e.
# GPUs: NVIDIA's data sheets of the SXM cards.
CHIPS = {
    # A v4 chip has two cores. "megacore" makes them one JAX device, which is v5p's default.
    "v4": Chip(275e12, 1200e9, "32 GiB", 30.75 * GIB, _3D_SLICES, {"chip_config_name": "megacore"}),
    "v5e": Chip(197e12, 819e9, "16 GB", 15.75 * GIB, _2D_SLICES),
    "v5p": Chip(459e12, 2765e9, "95 GB", 95.73 * GIB, _3D_SLICES),
    "v6e": Chip(918e12, 1638e9, "32 GB", 31.24 * GIB, _2D_SLICES),
    "h100": Chip(989e12, 3352e9, "80 GB", _RESERVED * 84929347584, gpu_target=_described("h100")),
    "a100": Chip(312e12, 2039e9, "80 GB", _RESERVED * 85050130432, gpu_target=_described("a100")),
}


def find_chips(device: str) -> tuple[Chip, int]:
    """Finds the kind and the number of chips of a device: "v5e:2x2", "h100" or "h100:8".

    Raises:
        ValueError: if the kind of chip is unknown, or has no slice of that shape.

    Example:
    >>> chip, count = find_chips("v5e:4x4")
    >>> chip.hbm, count
    ('16 GB', 16)
    >>> find_chips("a100:8")[1]
    8
    """
    name, _, shape = device.partition(":")
    chip = CHIPS.get(name)
    if chip is not None and chip.gpu_target and re.fullmatch(r"|[1-9]\d?", shape):
        return chip, int(shape or 1)
    if chip is None or shape not in chip.slices:
        accepted = [f"{name}:{shape}" for name, chip in CHIPS.items() for shape in chip.slices]
        accepted += [name for name, chip in CHIPS.items() if chip.gpu_target]
        raise ValueError(
            f"Unknown device {device!r}: pass a kind of TPU and the shape of a slice, or a kind of "
            f"GPU and how many, such as h100:8: one of {', '.join(accepted)}."
        )
    return chip, math.prod(map(int, shape.split("x")))
