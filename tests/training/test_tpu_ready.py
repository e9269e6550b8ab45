"""What a TPU needs of a train step, by XLA, without a TPU.

A TPU runs what XLA compiles: ops that tf2xla translates, on tensors of shapes that are known
beforehand, of types that the TPU has. Each model's own train step is traced on batches of the
library's own pipelines, and compiled as far as XLA's intermediate code, which is the same for every
device; an op without a translation is an error. Where libtpu and JAX are installed (`pip install
libtpu`), the TPU's own compiler does the rest.
"""

import functools
import importlib.util
import re
from pathlib import Path

import keras
import pytest
import tensorflow as tf

from keras_bert.data.data_of import data_of
from keras_bert.graph.datasets import as_dataset
from keras_bert.preprocessing.batches import Batches
from keras_bert.preprocessing.batching import Batching
from keras_bert.training.keras_internals import build_from_batch
from tests.marks import on

pytestmark = [pytest.mark.slow, on("tensorflow"), pytest.mark.usefixtures("mixed_bfloat16")]
PRETRAINER = "pretrainer on a corpus"
TASKS = (PRETRAINER, "classes", "tags", "spans", "choices", "reranker")


def train_step(model, data, accumulation_steps, **arguments):
    """A model's train step as a function of the tensors of a batch, and the specs of these."""
    data = as_dataset(data) if isinstance(data, Batches) else data
    spec = data_of(model, data).batches(Batching()).element_spec
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
        # The ops of AdamW are the same for every task.
        arguments = {} if task == PRETRAINER else {"optimizer": "sgd"}
        return train_step(*make_task(task, dropout=0.1), accumulation_steps, **arguments)

    return step


@pytest.mark.parametrize("task", TASKS)
def test_a_train_step_is_what_a_tpu_runs(task, step_of):
    check(*step_of(task, 2))  # the loop over parts holds all ops of a step without one


@pytest.mark.weekly
def test_so_is_one_without_accumulation_and_one_with_lamb_and_remat(make_task, step_of):
    check(*step_of(PRETRAINER, 1))
    model, data = make_task(PRETRAINER, dropout=0.1, remat="yes")
    check(*train_step(model, data, 2, optimizer=keras.optimizers.Lamb(1e-3)))


def check(step, spec):
    assert all(tensor.shape.is_fully_defined() for tensor in spec)
    code = step.experimental_get_compiler_ir(*spec)(stage="hlo")
    assert "dot(" in code
    assert not re.findall(r"custom-call|infeed|outfeed|<=\d+|f64\[", code)  # <= of any length


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("jax", "libtpu"))),
    reason="pip install jax libtpu",
)
def test_the_compiler_of_tpus_takes_all(step_of, tmp_path, run_python):
    paths = [tmp_path / f"{task.split()[0]}.hlo" for task in TASKS]
    for task, path in zip(TASKS, paths, strict=True):
        step, spec = step_of(task, 2)
        path.write_bytes(step.experimental_get_compiler_ir(*spec)(stage="hlo_serialized"))
    said = run_python(Path(__file__).with_name("compile_for_tpu.py"), *paths)
    sizes = dict(line.split() for line in said.splitlines() if ".hlo " in line)
    assert set(sizes) == {path.name for path in paths}
    assert all(0 < int(size) < 2**24 for size in sizes.values()), sizes
