"""What a TPU needs of a train step, looked for in its graph, and by XLA, without a TPU.

A TPU runs what XLA compiles: ops that tf2xla translates, on tensors of shapes that are known
beforehand, of types that the TPU has. TensorFlow registers those translations for XLA on any
device, so a CPU can tell. Each model's own train step is traced on batches of the library's own
pipelines, and compiled as far as XLA's intermediate code, which is the same for every device.
Where libtpu and JAX are installed (`pip install libtpu`), the TPU's own compiler does the rest.
"""

import functools
import importlib.util
import re
from pathlib import Path

import keras
import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import kernels

import keras_bert
from keras_bert.graph.datasets import as_dataset
from keras_bert.preprocessing.batches import Batches
from keras_bert.training.keras_internals import build_from_batch

ON_TENSORFLOW = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="TPUStrategy is TensorFlow's"
)
pytestmark = [pytest.mark.slow, ON_TENSORFLOW, pytest.mark.usefixtures("mixed_bfloat16")]
TASKS = "pretrainer classifier token_classifier span_labeler multiple_choice reranker".split()

# kTpuAllTypes of tensorflow/core/tpu/tpu_defs.h, less those that it emulates slowly (DT_DOUBLE)
# or that no train step has reason to use; and handles of variables.
TPU_TYPES = {
    *("DT_FLOAT", "DT_BFLOAT16", "DT_BOOL", "DT_INT64", "DT_UINT64", "DT_RESOURCE"),
    *("DT_INT32", "DT_UINT32", "DT_INT16", "DT_UINT16", "DT_INT8", "DT_UINT8", "DT_VARIANT"),
}
OF_THE_HOST = {"Placeholder", "NoOp"}  # arguments of the step, and order alone


def train_step(model, data, accumulation_steps, **arguments):
    """A model's train step as a function of the tensors of a batch, and the specs of these."""
    data = as_dataset(data) if isinstance(data, Batches) else data
    spec = model.with_checked_labels(data).element_spec
    model.compile(**{**model.default_compile_args(), **arguments})
    model.accumulation_steps = accumulation_steps
    build_from_batch(model, spec)

    def step(*tensors):
        return model.train_step(tf.nest.pack_sequence_as(spec, tensors))

    return tf.function(step, jit_compile=True), tf.nest.flatten(spec)


@pytest.fixture(scope="module")
def step_of(make_task):
    @functools.cache
    def step(task, accumulation_steps):
        return train_step(*make_task(task), accumulation_steps)

    return step


def nodes_of(graph):
    definition = graph.as_graph_def(add_shapes=True)
    yield from definition.node
    for function in definition.library.function:
        yield from function.node_def


def shapes(node):
    for shape in node.attr["_output_shapes"].list.shape:
        yield tf.TensorShape(shape)


def types(node):
    for value in node.attr.values():
        for number in (value.type, *value.list.type):
            if number:
                yield types_pb2.DataType.Name(number)


@functools.cache
def translated_ops():
    """The names of the ops that XLA compiles; tensorflow-tpu 2.20 has all of them for TPUs."""
    tf.function(lambda x: x + 1, jit_compile=True)(0.0)  # registers them
    registered = kernels.get_all_registered_kernels().kernel
    return {kernel.op for kernel in registered if kernel.device_type == "XLA_CPU_JIT"}


def find_faults(nodes):
    """What a TPU would refuse, in words; nodes without `_output_shapes` have none."""
    can_be_compiled = translated_ops() | OF_THE_HOST
    for node in nodes:
        if node.op not in can_be_compiled:
            yield f"{node.op} {node.name} isn't compiled"
        for shape in shapes(node):
            if not shape.is_fully_defined():
                yield f"{node.op} {node.name} has the shape {shape}"
        for name in set(types(node)) - TPU_TYPES:
            yield f"{node.op} {node.name} is of {name}"


def test_what_a_tpu_refuses_is_found():
    def step(x):
        printed = tf.strings.as_string(tf.reduce_sum(x))
        chosen = tf.while_loop(
            lambda y: tf.size(y) > 1,
            lambda y: (tf.boolean_mask(y, y > y[0]),),
            [x],
            shape_invariants=[tf.TensorShape([None])],
        )
        return printed, chosen, tf.cast(x, "float64")

    spec = tf.TensorSpec([4], "float32")
    graph = tf.function(step).get_concrete_function(spec).graph
    faults = "; ".join(find_faults(nodes_of(graph)))
    assert "AsString AsString isn't compiled" in faults
    assert re.search("GatherV2 .*has the shape", faults), faults  # in the body of the loop
    assert re.search("Cast .*is of DT_DOUBLE", faults), faults


@pytest.mark.parametrize("task", TASKS)
def test_a_train_step_is_what_a_tpu_runs(task, step_of):
    check(*step_of(task, 2))  # the loop over parts holds all ops of a step without one


@pytest.mark.weekly
def test_so_is_one_without_accumulation_and_one_with_lamb_and_remat(make_task, step_of):
    check(*step_of("pretrainer", 1))
    model, data = make_task("pretrainer", remat=True)
    check(*train_step(model, data, 2, optimizer=keras_bert.Lamb(1e-3)))


def check(step, spec):
    assert all(tensor.shape.is_fully_defined() for tensor in spec)
    nodes = list(nodes_of(step.get_concrete_function(*spec).graph))
    assert any(node.op == "BatchMatMulV2" for node in nodes)  # inside of loops and functions too
    assert not sorted(find_faults(nodes))
    code = step.experimental_get_compiler_ir(*spec)(stage="hlo")
    assert "dot(" in code
    assert not re.findall(r"custom-call|infeed|outfeed|<=\d+|f64\[", code)


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("jax", "libtpu"))), reason='pip install ".[tpu-plan]"'
)
def test_the_compiler_of_tpus_takes_all(step_of, tmp_path, run_python):
    paths = [tmp_path / f"{task}.hlo" for task in TASKS]
    for task, path in zip(TASKS, paths, strict=True):
        step, spec = step_of(task, 2)
        path.write_bytes(step.experimental_get_compiler_ir(*spec)(stage="hlo_serialized"))
    said = run_python(Path(__file__).with_name("compile_for_tpu.py"), *paths)
    sizes = dict(line.split() for line in said.splitlines() if ".hlo " in line)
    assert set(sizes) == {path.name for path in paths}
    assert all(0 < int(size) < 2**24 for size in sizes.values()), sizes
