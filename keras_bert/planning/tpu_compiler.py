"""The train step, compiled for TPUs that aren't there."""

import importlib.metadata
import importlib.util
import os
import re
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

from keras_bert.planning.hbm_traffic import hbm_traffic

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_TOO_MUCH = re.compile(r"\(([\d.]+)([KMGT]?)\) exceeds available HBM \(([\d.]+)([KMGT]?)\)")
_EXCESS = re.compile(r"[Ee]xceeded hbm capacity by ([\d.]+)([KMGT]?)")


class Figures(NamedTuple):
    """What the compiler says of a step, for one chip; all but `seconds` None where it refused."""

    arguments: int | None  # bytes of weights, the optimizer's state and the batch
    temporaries: int | None  # bytes
    code: int | None  # bytes
    flops: float | None  # operations
    hbm_bytes: float | None  # that go between the chip and its HBM
    excess: float | None  # bytes that are missing, of a step that was refused, where it says so
    seconds: float  # that compiling took

    @property
    def needed(self):
        """The bytes of HBM that it takes; None of a step that was refused."""
        return None if self.code is None else self.arguments + self.temporaries + self.code


def check_compiler():
    """Raises a ValueError if this process can't compile for TPUs."""
    if keras.backend.backend() != "jax":
        raise ValueError(
            "TPUs are planned for on Keras's JAX backend; this is "
            f"{keras.backend.backend()}. Set KERAS_BACKEND=jax before Keras is imported."
        )
    if not has_compiler():
        raise ValueError(
            "The compiler for TPUs, libtpu, isn't installed (it runs on Linux, and needs no TPU): "
            'pip install "keras3-bert[tpu-plan]".'
        )


def has_compiler():
    """Whether the compiler for TPUs is there, and JAX, which it is called by."""
    path = os.environ.get("TPU_LIBRARY_PATH")
    has_libtpu = os.path.isfile(path) if path else _is_installed("libtpu")
    return has_libtpu and _is_installed("jax")


def _is_installed(package):
    return importlib.util.find_spec(package) is not None


def describe_compiler():
    """The compiler's name and version, and JAX's."""
    import jax

    try:
        version = " " + importlib.metadata.version("libtpu")
    except importlib.metadata.PackageNotFoundError:
        version = ""
    return f"libtpu{version}, JAX {jax.__version__}"


def tpu_devices(topology, options):
    """The devices of a TPU that isn't there; programs can be compiled for them, not run."""
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # or libtpu asks Google's cloud what it is
    os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")  # there is no TPU to be alone on
    from jax.experimental import topologies

    found = topologies.get_topology_desc(topology_name=topology, platform="tpu", **options)
    return found.devices


def lower_step(model, devices, batch_size, sequence_length, max_predictions):
    """The step of `model.fit`, over devices that divide the batch, ready to be compiled.

    It is the very function that `fit` compiles; arrays are shapes alone.

    Args:
        model: a `BertPretrainer` on JAX.
        devices: a list of JAX devices, there or not.
        batch_size: int, rows B of a batch over all devices.
        sequence_length: int, S.
        max_predictions: int, P.

    Returns:
        A `jax.stages.Lowered`.
    """
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from keras_bert.training.jax_loop import compiled, one_or_more

    if not model.compiled:
        model.compile(**model.default_compile_args())
    batch = _zeros(model, batch_size, sequence_length, max_predictions)
    model._symbolic_build(data_batch=jax.tree.map(lambda values: values[:1], batch))
    state = (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
        model.metrics_variables,
    )
    mesh = Mesh(np.array(devices), ("batch",))
    replicated = NamedSharding(mesh, PartitionSpec())
    divided = NamedSharding(mesh, PartitionSpec("batch"))

    def shape(values, sharding):
        dtype = keras.backend.standardize_dtype(values.dtype)
        return jax.ShapeDtypeStruct(values.shape, dtype, sharding=sharding)

    def divide(batch):
        return jax.tree.map(lambda v: jax.lax.with_sharding_constraint(v, divided), batch)

    state = tuple([shape(variable, replicated) for variable in part] for part in state)
    batch = jax.tree.map(lambda values: shape(values, replicated), batch)
    return compiled(one_or_more(model.train_step, divide), replicated).lower(state, (batch,))


def compile_step(lowered, turns=1, flops_outside=0):
    """Compiles a lowered step.

    Args:
        lowered: what `lower_step` gave.
        turns: int, how often its loop runs, where it has one: the compiler counts one turn.
        flops_outside: int, operations that aren't in the loop.

    Returns:
        `Figures`.
    """
    import jax

    started = time.perf_counter()
    try:
        program, text = _compiled(lowered)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        seconds = time.perf_counter() - started
        return Figures(None, None, None, None, None, read_excess(str(error)), seconds)
    seconds = time.perf_counter() - started
    memory = program.memory_analysis()
    return Figures(
        arguments=memory.argument_size_in_bytes
        + memory.output_size_in_bytes
        - memory.alias_size_in_bytes,
        temporaries=memory.temp_size_in_bytes,
        code=memory.generated_code_size_in_bytes,
        flops=turns * program.cost_analysis()["flops"] - (turns - 1) * flops_outside,
        hbm_bytes=hbm_traffic(text, turns),
        excess=None,
        seconds=seconds,
    )


def _compiled(lowered):
    """The compiled program, and its text.

    The compiler writes that itself, since JAX can't read all programs of newer chips (v5p).
    """
    with tempfile.TemporaryDirectory() as folder:
        options = {"xla_dump_to": folder, "xla_dump_hlo_as_text": True}
        program = lowered.compile(compiler_options=options)
        [path] = Path(folder).glob("*.after_optimizations.txt")
        return program, path.read_text()


def read_excess(message):
    """The bytes by which a program is too large, of the compiler's words; None if not in them.

    Example:
    >>> read_excess("HLO temporaries (20.00G) exceeds available HBM (15.75G)") / 2**30
    4.25
    """
    if found := _TOO_MUCH.search(message):
        needed, available = _bytes(*found.groups()[:2]), _bytes(*found.groups()[2:])
        return needed - available
    if found := _EXCESS.search(message):
        return _bytes(*found.groups())
    return None


def _bytes(number, unit):
    return float(number) * _UNITS[unit]


def _zeros(model, batch_size, sequence_length, max_predictions):
    """A batch of the shapes and dtypes of `pretraining_dataset`."""
    tokens = np.broadcast_to(np.int32(0), (batch_size, sequence_length))  # [B, S]
    slots = np.broadcast_to(np.int32(0), (batch_size, max_predictions))  # [B, P]
    x = {name: tokens for name in ("token_ids", "segment_ids", "padding_mask")}
    x["mask_positions"] = slots
    y, sample_weight = {"masked_lm": slots}, {"masked_lm": slots.astype("float32")}
    if model.next_sentence:
        y["next_sentence"] = slots[:, 0]
        sample_weight["next_sentence"] = slots[:, 0].astype("float32")
    return x, y, sample_weight
