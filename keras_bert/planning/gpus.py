"""GPUs that programs are compiled for without a GPU, as XLA describes them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jax

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
