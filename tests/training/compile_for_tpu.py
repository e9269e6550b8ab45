"""Compiles steps for a TPU v5e that isn't there: libtpu has the compiler, JAX the way to it.

    python compile_for_tpu.py step.hlo ...

Each file holds the result of `experimental_get_compiler_ir(...)(stage="hlo_serialized")`. Prints a
line for each, with its name and the bytes of TPU memory that the step takes. Run by
test_tpu_ready.py.
"""

import os
import re
import sys
from pathlib import Path

os.environ |= {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}

import numpy as np  # noqa: E402
from jax._src.interpreters import mlir  # noqa: E402
from jax._src.lib import _jax  # noqa: E402
from jax._src.lib import xla_client as xla  # noqa: E402
from jax.experimental import topologies  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402


def compiled(hlo):
    device = topologies.get_topology_desc("v5e:2x2", "tpu").devices[0]
    options = xla.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = xla.DeviceAssignment.create(np.array([[device.id]]))
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        text = str(ir.Module.parse(_jax.mlir.hlo_to_stablehlo(hlo)))
        # StableHLO has no copies; a conversion to the same type is one.
        text = re.sub(
            r'"mhlo.copy"\((%\w+)\) : \((.*?)\) -> (.*)',
            r"stablehlo.convert \1 : (\2) -> \3",
            text,
        )
        module = ir.Module.parse(re.sub(r"mhlo\.copy (%\w+) :", r"stablehlo.convert \1 :", text))
        return device.client.compile(module, _jax.DeviceList((device,)), options)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        stats = compiled(path.read_bytes()).get_compiled_memory_stats()
        print(path.name, stats.argument_size_in_bytes + stats.temp_size_in_bytes, flush=True)
