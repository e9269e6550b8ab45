"""TPUs and GPUs with their published rates."""

import math
import re
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


_ANY_GPU = """
platform_name: "CUDA"
runtime_version { major: 13 }
dnn_version_info { major: 9 minor: 12 }
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
  shared_memory_per_block: 49152
"""
# As in XLA's own files of GPU specifications.
_H100 = """
  cuda_compute_capability { major: 9 } core_count: 132 fpus_per_core: 128 clock_rate_ghz: 1.98
  shared_memory_per_core: 233472 shared_memory_per_block_optin: 232448
  memory_bandwidth: 3352320000000 l2_cache_size: 52428800 device_memory_size: 84929347584 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
_A100 = """
  cuda_compute_capability { major: 8 } core_count: 108 fpus_per_core: 64 clock_rate_ghz: 1.41
  shared_memory_per_core: 167936 shared_memory_per_block_optin: 166912
  memory_bandwidth: 2039000000000 l2_cache_size: 41943040 device_memory_size: 85050130432 }
device_description_str: "NVIDIA A100-SXM4-80GB"
"""

# TPUs: https://cloud.google.com/tpu/docs/v4, and the same pages for v5e, v5p and v6e.
# GPUs: NVIDIA's data sheets of the SXM cards.
CHIPS = {
    # A v4 chip has two cores. "megacore" makes them one JAX device, which is v5p's default.
    "v4": Chip(275e12, 1200e9, "32 GiB", 30.75 * GIB, _3D_SLICES, {"chip_config_name": "megacore"}),
    "v5e": Chip(197e12, 819e9, "16 GB", 15.75 * GIB, _2D_SLICES),
    "v5p": Chip(459e12, 2765e9, "95 GB", 95.73 * GIB, _3D_SLICES),
    "v6e": Chip(918e12, 1638e9, "32 GB", 31.24 * GIB, _2D_SLICES),
    "h100": Chip(989e12, 3352e9, "80 GB", _RESERVED * 84929347584, gpu_target=_ANY_GPU + _H100),
    "a100": Chip(312e12, 2039e9, "80 GB", _RESERVED * 85050130432, gpu_target=_ANY_GPU + _A100),
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
