"""TPUs with their published rates."""

import math
from typing import NamedTuple

GIB = 2**30
_2D_SLICES = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_3D_SLICES = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "8x8x8")


class Chip(NamedTuple):
    """A kind of TPU chip; libtpu 0.0.52 reports `available_bytes`, which aren't published."""

    flops_per_second: float  # peak rate of dense bfloat16 operations
    bytes_per_second: float  # peak rate between the chip and its HBM
    hbm: str
    available_bytes: float
    slices: tuple[str, ...]
    topology_options: dict = {}


# Rates: https://cloud.google.com/tpu/docs/v4, and the same pages for v5e, v5p and v6e.
CHIPS = {
    # A v4 chip has two cores. "megacore" makes them one JAX device, which is v5p's default.
    "v4": Chip(275e12, 1200e9, "32 GiB", 30.75 * GIB, _3D_SLICES, {"chip_config_name": "megacore"}),
    "v5e": Chip(197e12, 819e9, "16 GB", 15.75 * GIB, _2D_SLICES),
    "v5p": Chip(459e12, 2765e9, "95 GB", 95.73 * GIB, _3D_SLICES),
    "v6e": Chip(918e12, 1638e9, "32 GB", 31.24 * GIB, _2D_SLICES),
}


def find_chips(topology: str) -> tuple[Chip, int]:
    """Finds the kind and the number of chips in a topology.

    Raises:
        ValueError: if the kind of chip is unknown or has no slice of that shape.

    Example:
    >>> chip, count = find_chips("v5e:4x4")
    >>> chip.hbm, count
    ('16 GB', 16)
    """
    name, _, shape = topology.partition(":")
    if name not in CHIPS or shape not in CHIPS[name].slices:
        accepted = (
            ", ".join(f"{name}:{shape}" for shape in chip.slices) for name, chip in CHIPS.items()
        )
        raise ValueError(
            f"Unknown topology {topology!r}: pass a kind of chip and the shape of a slice, one of "
            f"{'; '.join(accepted)}."
        )
    return CHIPS[name], math.prod(map(int, shape.split("x")))
