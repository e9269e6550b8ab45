"""TPUs with their published rates, and GPUs as XLA describes them: neither has to be there."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import jax

GIB = 2**30
_2D_SLICES = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_3D_SLICES = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "8x8x8")


class Chip(NamedTuple):
    """A kind of TPU chip.

    `available_bytes` isn't published. It is the limit that the compiler (libtpu 0.0.52) reports
    for a program that is too large.
    """

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
    """Finds the kind and the number of chips in a topology, such as "v5e:4x4".

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


_SHARED = """
platform_name: "CUDA"
runtime_version { major: 13 }
dnn_version_info { major: 9 minor: 12 }
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
  shared_memory_per_block: 49152
"""
TARGETS = {  # as in XLA's own files of GPU specifications
    "h100": """
  cuda_compute_capability { major: 9 } core_count: 132 fpus_per_core: 128 clock_rate_ghz: 1.98
  shared_memory_per_core: 233472 shared_memory_per_block_optin: 232448
  memory_bandwidth: 3352320000000 l2_cache_size: 52428800 device_memory_size: 84929347584 }
device_description_str: "NVIDIA H100 80GB HBM3"
""",
    "a100": """
  cuda_compute_capability { major: 8 } core_count: 108 fpus_per_core: 64 clock_rate_ghz: 1.41
  shared_memory_per_core: 167936 shared_memory_per_block_optin: 166912
  memory_bandwidth: 2039000000000 l2_cache_size: 41943040 device_memory_size: 85050130432 }
device_description_str: "NVIDIA A100-SXM4-80GB"
""",
}
# Which of several kernels of a product is faster is measured on a GPU; without one, any is taken.
# Optimizing machine code only takes time.
COMPILER_OPTIONS = {"xla_gpu_autotune_level": "0", "xla_llvm_disable_expensive_passes": True}


def gpu_devices(name: str, count: int = 1) -> Sequence["jax.Device"]:
    """Returns GPUs, "h100" or "a100", that programs compile for, but don't run on.

    This needs jax-cuda13-plugin and jax-cuda13-pjrt, in JAX's version and installed without what
    they depend on, `ptxas` on the PATH, and `JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1`, which spares JAX
    the search for CUDA's libraries.
    """
    from jax.experimental import topologies

    return topologies.get_topology_desc(
        platform="cuda", target_config=_SHARED + TARGETS[name], topology=f"1x{count}x1"
    ).devices
