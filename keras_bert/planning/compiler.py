"""Compilation of the train step for TPUs and GPUs that are absent."""

import importlib.util
import os
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import keras
import numpy as np

from keras_bert.layers.fused_attention import planned_for
from keras_bert.planning.devices import Chip
from keras_bert.planning.hbm_traffic import hbm_traffic

if TYPE_CHECKING:
    import jax

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_TOO_MUCH = re.compile(r"\(([\d.]+)([KMGT]?)\) exceeds available HBM \(([\d.]+)([KMGT]?)\)")
# Which of several kernels of a product is faster is measured on a GPU; without one, any is taken.
# Optimizing machine code only takes time.
_GPU_OPTIONS = {"xla_gpu_autotune_level": "0", "xla_llvm_disable_expensive_passes": True}
_EXCESS = re.compile(r"[Ee]xceeded hbm capacity by ([\d.]+)([KMGT]?)")


class CompiledCost(NamedTuple):
    """Cost of a compiled step on one chip. If the step is too large, most fields are None."""

    arguments: int | None  # bytes of the weights, the optimizer's state and the batch
    temporaries: int | None  # bytes
    code: int | None  # bytes
    flops: float | None  # operations; the compiler of GPUs doesn't count them
    hbm_bytes: float | None  # bytes moved between the chip and its HBM
    excess: float | None  # missing bytes, if the step is too large and the compiler reports them
    seconds: float  # compilation time

    @property
    def needed(self) -> int | None:
        """Bytes of HBM that the step takes, or None if it is too large."""
        return None if self.code is None else self.arguments + self.temporaries + self.code


def check_compiler(chip: Chip) -> None:
    """Raises a `ValueError` if this process can't compile for a kind of chip."""
    backend = keras.backend.backend()
    if backend != "jax" or not has_compiler(chip):
        kind = "GPU" if chip.gpu_target else "TPU"
        raise ValueError(
            f"Planning for {kind}s needs JAX as Keras's backend (it is {backend}) and their "
            "compiler, which runs on Linux without any: set KERAS_BACKEND=jax before Keras is "
            f'imported, and pip install "keras3-bert[{kind.lower()}-plan]".'
        )


def has_compiler(chip: Chip) -> bool:
    """Returns whether the compiler of a kind of chip and JAX are installed."""
    if chip.gpu_target:
        return _are_installed("jax_plugins", "jax_plugins.xla_cuda13") and bool(_ptxas_folder())
    library = os.environ.get("TPU_LIBRARY_PATH")
    if library:
        return _are_installed() and os.path.isfile(library)
    return _are_installed("libtpu")


def _are_installed(*modules):
    return all(map(importlib.util.find_spec, ("jax", *modules)))  # a missing parent ends it


def _ptxas_folder():
    path = shutil.which("ptxas")
    if path:
        return os.path.dirname(path)
    nvidia = importlib.util.find_spec("nvidia")
    for folder in nvidia.submodule_search_locations if nvidia else ():
        for path in Path(folder).glob("cu*/bin/ptxas"):
            return str(path.parent)
    return None


def planned_devices(device: str, chip: Chip, count: int) -> Sequence["jax.Device"]:
    """Returns the chips of a device. Programs compile for them, but don't run."""
    from jax.experimental import topologies

    if not chip.gpu_target:
        os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # don't ask Google's cloud for the slice
        os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")  # no TPU needs exclusive access
        return topologies.get_topology_desc(device, platform="tpu", **chip.topology_options).devices
    os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")  # no search for CUDA's libraries
    if shutil.which("ptxas") is None:
        os.environ["PATH"] += os.pathsep + _ptxas_folder()
    return topologies.get_topology_desc(
        platform="cuda", target_config=chip.gpu_target, topology=f"1x{count}x1"
    ).devices


def lower_step(
    model: keras.Model, devices: Sequence["jax.Device"], batch: tuple
) -> "jax.stages.Lowered":
    """Lowers the step that `fit` compiles on JAX, for devices that share a `pretraining_batch`."""
    import jax

    from keras_bert.training.jax_loop import compiled, one_or_more
    from keras_bert.training.keras_internals import build_from_batch

    if not model.compiled:
        model.compile(**model.default_compile_args())
    build_from_batch(model, jax.tree.map(lambda values: values[:1], batch))
    state = (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
        model.metrics_variables,
    )
    mesh, replicated, shard = _shared_by(devices)
    state = tuple([_shape(variable, replicated) for variable in part] for part in state)
    batch = jax.tree.map(lambda values: _shape(values, replicated), batch)
    steps = compiled(one_or_more(model.train_step, shard), replicated)
    return _lowered(steps, mesh, state, (batch,))


def _lowered(function, mesh, *arguments):  # one place, which tests replace
    with planned_for(mesh):
        return function.lower(*arguments)


def _shared_by(devices):
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(devices), ("batch",))
    sharded = NamedSharding(mesh, PartitionSpec("batch"))

    def shard(batch):
        return jax.tree.map(lambda v: jax.lax.with_sharding_constraint(v, sharded), batch)

    return mesh, NamedSharding(mesh, PartitionSpec()), shard


def _shape(values, sharding):
    import jax

    dtype = keras.backend.standardize_dtype(values.dtype)
    return jax.ShapeDtypeStruct(values.shape, dtype, sharding=sharding)


def compile_step(
    lowered: "jax.stages.Lowered", chip: Chip, num_iterations: int = 1, flops_outside_loop: int = 0
) -> CompiledCost:
    """Compiles a lowered step.

    The compiler counts one of the `num_iterations` of the step's loop, if it has one;
    `flops_outside_loop` are the operations outside the loop.
    """
    import jax

    started = time.perf_counter()
    try:
        program, text = compile_program(lowered, chip)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        seconds = time.perf_counter() - started
        return CompiledCost(None, None, None, None, None, read_excess(str(error)), seconds)
    seconds = time.perf_counter() - started
    memory = program.memory_analysis()
    outputs = memory.output_size_in_bytes - memory.alias_size_in_bytes
    flops = (program.cost_analysis() or {}).get("flops")
    if flops is not None:
        flops = num_iterations * flops - (num_iterations - 1) * flops_outside_loop
    return CompiledCost(
        arguments=memory.argument_size_in_bytes + outputs,
        temporaries=memory.temp_size_in_bytes,
        code=memory.generated_code_size_in_bytes,
        flops=flops,
        hbm_bytes=hbm_traffic(text, num_iterations),
        excess=None,
        seconds=seconds,
    )


def compile_program(lowered: "jax.stages.Lowered", chip: Chip) -> tuple["jax.stages.Compiled", str]:
    """Compiles a lowered step; returns the program and the text of its optimized HLO.

    The compiler dumps the text: JAX can't read every program for newer chips (v5p).
    """
    with tempfile.TemporaryDirectory() as folder:
        dump = {"xla_dump_to": folder, "xla_dump_hlo_as_text": True}
        options = _GPU_OPTIONS if chip.gpu_target else {}
        program = lowered.compile(compiler_options={**options, **dump})
        [path] = Path(folder).glob("*after_optimizations.txt")
        return program, path.read_text()


def read_excess(message: str) -> float | None:
    """Parses by how many bytes a program is too large from the compiler's error, or None.

    Example:
    >>> read_excess("HLO temporaries (20.00G) exceeds available HBM (15.75G)") / 2**30
    4.25
    """
    match = _TOO_MUCH.search(message) or _EXCESS.search(message)
    if match is None:
        return None
    needed, unit, *available = match.groups()
    excess = float(needed) * _UNITS[unit]
    if available:
        number, unit = available
        excess -= float(number) * _UNITS[unit]
    return excess


def pretraining_batch(
    model: keras.Model,
    batch_size: int,
    sequence_length: int,
    max_predictions: int,
    sequences_per_row: int | None = None,
) -> tuple:
    """Returns a batch of zeros with the shapes and dtypes of `pretraining_dataset`."""

    def zeros(*shape):
        return np.broadcast_to(np.int32(0), (batch_size, *shape))

    x = {"token_ids": zeros(sequence_length), "segment_ids": zeros(sequence_length)}
    if sequences_per_row is None:
        x["padding_mask"] = zeros(sequence_length)
    else:
        x["sequence_ids"] = zeros(sequence_length)
        x["cls_positions"] = zeros(sequences_per_row)
    x["mask_positions"] = zeros(max_predictions)
    y = {"masked_lm": zeros(max_predictions)}
    if model.next_sentence:
        y["next_sentence"] = zeros() if sequences_per_row is None else zeros(sequences_per_row)
    return x, y, {name: labels.astype("float32") for name, labels in y.items()}
