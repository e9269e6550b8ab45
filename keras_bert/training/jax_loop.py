"""`fit` and `evaluate` on JAX: global losses, accumulation, several steps in one loop."""

import contextlib
import functools
import operator
import threading
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import jax
import keras
import numpy as np
from jax import numpy as jnp

from keras_bert.messages import NO_EXAMPLES
from keras_bert.training.global_loss import GlobalLoss, compares_examples, counted_weights, num_rows
from keras_bert.training.keras_internals import (
    dataset_specs,
    next_batches,
    state_shardings,
    step_loss,
    updated_variables,
)
from keras_bert.training.processes import check_same
from keras_bert.training.strategy import ReplicatedBatches

_IN_ORDER = threading.Lock()  # devices that work together must get programs in the same order


class TrainLoop(GlobalLoss):
    """A train loop for `keras.Model` on any number of JAX devices and processes.

    On JAX a batch that is sharded over devices is still one array, so means over it and the norm
    of its gradients are already global. The loop differs from Keras's own (3.15) as follows:

    - `accumulation_steps` parts of a batch are processed one after the other, with the losses of
      the global batch (`GlobalLoss`); the optimizer takes one step with the sum of their gradients;
    - `steps_per_execution` steps are one compiled loop;
    - devices take their rows of a batch in the compiled step (`ReplicatedBatches`);
    - the model is built without drawing a batch from a `tf.data.Dataset`, whose shuffled data would
      otherwise begin with its second pass;
    - `predict` returns all outputs to every process, and threads may call it at once;
    - a model keeps its weights if data or a callback raise an error, or the user interrupts.
    """

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().evaluate(*args, **kwargs)
        except BaseException:
            with contextlib.suppress(RuntimeError):  # a step that failed has used its state up
                self.jax_state_sync()
            raise

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        self.make_predict_function()
        call = object.__new__(type(self))  # the same model, with a state for this call
        vars(call).update(vars(self), steps_per_execution=1)
        return super(TrainLoop, call).predict(*args, **kwargs)

    def predict_step(self, state, data):
        if not _is_compiled(self):
            return super().predict_step(state, data)
        outputs, others = super().predict_step(state, _sharded(data))
        return _replicated(outputs), others

    def train_step(self, state, data):
        trainable, others, optimizer, metrics = state
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        if self._is_split and compares_examples(self, y):
            return self._step_over_batch(state, x, y, sample_weight)
        weights, densities = self._scaled_weights(x, y, sample_weight)
        num_parts = self.accumulation_steps
        rows = num_rows(x)
        # Gradients of parts of equal size are added unscaled, and scaled after the loop.
        scale = num_parts if rows % num_parts == 0 else 1
        gradient_of = jax.value_and_grad(self.compute_loss_and_updates, has_aux=True)

        def pass_part(carried, part):
            sums, others, metrics = carried
            x, y, sample_weight, weights = part
            (_, results), gradients = gradient_of(
                trainable,
                others,
                metrics,
                x,
                y,
                counted_weights(weights, densities, num_rows(x)),
                training=True,
                optimizer_variables=optimizer,
            )
            _, y_pred, others, metrics = results
            metrics = self._updated(metrics, x, y, y_pred, sample_weight)
            share = scale * num_rows(x) / rows
            sums = [s + share * g for s, g in zip(sums, gradients, strict=True)]
            return (sums, others, metrics), None

        carried = (_zeros(trainable), others, metrics)
        batch = (x, y, sample_weight, weights)
        (sums, others, metrics), _ = _over_parts(pass_part, carried, batch, num_parts)
        gradients = [gradient / scale for gradient in sums]
        trainable, optimizer = self._take_step(optimizer, gradients, trainable, others)
        return self._logs(metrics), (trainable, others, optimizer, metrics)

    def _step_over_batch(self, state, x, y, sample_weight):
        """Takes a step with a loss that compares examples, in parts; see `BatchLoss`."""
        trainable, others, optimizer, metrics = state
        rows = num_rows(x)
        num_parts = min(self.accumulation_steps, rows)

        def embed(others, part):
            outputs, others = self.stateless_call(trainable, others, part, training=True)
            return others, outputs

        _, outputs = _over_parts(embed, others, x, num_parts)
        weights = counted_weights(*self._scaled_weights(x, y, sample_weight), rows)
        variables = self.metrics_variables + self.optimizer.variables

        def loss_of(outputs):
            with _with_values(variables, [*metrics, *optimizer]) as scope:
                loss = step_loss(self, None, y, outputs, weights, True)
                return self.optimizer.scale_loss(loss), self._metric_values(scope)

        (_, metrics), upstream = jax.value_and_grad(loss_of, has_aux=True)(outputs)

        def add_gradients(carried, part):
            sums, others = carried
            x, upstream = part

            def embed_with(trainable):
                return self.stateless_call(trainable, others, x, training=True)

            _, backward, others = jax.vjp(embed_with, trainable, has_aux=True)
            [gradients] = backward(upstream)
            sums = [s + g for s, g in zip(sums, gradients, strict=True)]
            return (sums, others), None

        carried = (_zeros(trainable), others)  # the same `others` repeat the dropout
        (gradients, others), _ = _over_parts(add_gradients, carried, (x, upstream), num_parts)
        trainable, optimizer = self._take_step(optimizer, gradients, trainable, others)
        metrics = self._updated(metrics, x, y, outputs, sample_weight)
        return self._logs(metrics), (trainable, others, optimizer, metrics)

    def _take_step(self, optimizer, gradients, trainable, others):
        """Returns new values; weights that the optimizer knows may be frozen now."""
        gradient_of = _by_variable(self.trainable_variables, gradients)
        value_of = _by_variable(self.trainable_variables, trainable)
        value_of |= _by_variable(self.non_trainable_variables, others)
        updated = updated_variables(self.optimizer)
        gradients = [gradient_of.get(id(v)) for v in updated]
        values = []
        for variable in updated:
            value = value_of.get(id(variable))  # None after LoRA's matrices were merged
            values.append(jnp.zeros(variable.shape, variable.dtype) if value is None else value)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Gradients do not exist")  # of frozen weights
            values, optimizer = self.optimizer.stateless_apply(optimizer, gradients, values)
        value_of = _by_variable(updated, values)
        return [value_of[id(variable)] for variable in self.trainable_variables], optimizer

    def test_step(self, state, data):
        trainable, others, metrics = state
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        weights = self._scaled_weights(x, y, sample_weight, training=False)
        weights = counted_weights(*weights, num_rows(x))
        _, (_, y_pred, others, metrics) = self.compute_loss_and_updates(
            trainable, others, metrics, x, y, weights, training=False
        )
        metrics = self._updated(metrics, x, y, y_pred, sample_weight)
        return self._logs(metrics), (trainable, others, metrics)

    def make_predict_function(self, force=False):
        """Makes a function that reads the weights, and writes only those that change.

        Keras's own moves all weights out of their variables, which other threads read.
        """
        if self.predict_function is not None and not force:
            return
        weights = self.trainable_variables
        others = self.non_trainable_variables

        def step(state, batch):
            outputs, values = self.predict_step(state, batch)
            changed = {}  # such as the seed of dropout that is never off
            for index, (new, old) in enumerate(zip(values, state[1], strict=True)):
                if new is not old:
                    changed[index] = new
            return outputs, changed

        if _is_compiled(self):
            step = jax.jit(step)

        def function(state, iterator):
            batch = next(iterator)
            values = [v.value for v in weights], [v.value for v in others]
            with _IN_ORDER:
                outputs, changed = step(values, batch)
            for index, value in changed.items():
                others[index].assign(value)
            return outputs, state

        self.predict_function = function

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            self.train_function = Steps(self, self.train_step, state=(0, 1, 2, 3))
        self.train_function.has_stepped = False  # in this `fit`

    def make_test_function(self, force=False):
        if self.test_function is None or force:
            self.test_function = Steps(self, self.test_step, state=(0, 1, 3))

    def _batch_spec(self, iterator):
        def symbol(spec):
            shape = [size or 2 for size in spec.shape]  # 2 for an unknown size
            return keras.KerasTensor(shape, spec.dtype.name)

        specs = dataset_specs(iterator)
        if specs is None:
            return super()._batch_spec(iterator)
        return jax.tree.map(symbol, specs)

    def _updated(self, metrics, *arguments):
        """Returns new metric values; a JAX step can't assign variables."""
        with _with_values(self.metrics_variables, metrics) as scope:
            self.compute_metrics(*arguments)
        return self._metric_values(scope)

    def _metric_values(self, scope):
        return [scope.get_current_value(variable) for variable in self.metrics_variables]

    def _logs(self, metrics):
        with _with_values(self.metrics_variables, metrics):
            return self.get_metrics_result()


class Steps:
    """A function of state and iterator: `steps_per_execution` steps, or the remaining ones.

    `step` is the model's `train_step` or `test_step`, and `state` has the indices of its state in
    `(trainable, others, optimizer, metrics)`.
    """

    def __init__(self, model, step, state):
        self.model = model
        self.has_stepped = True
        self.checked = None  # the iterator whose first batch was compared
        if not _is_compiled(model):
            self.run = one_or_more(step)
            return
        shardings = None
        if keras.distribution.distribution() is not None:
            all_shardings = state_shardings(model)
            shardings = tuple(all_shardings[index] for index in state)
        self.run = compiled(one_or_more(step, _sharded), shardings)

    def __call__(self, state, iterator):
        try:
            batches = next_batches(iterator, self.model.steps_per_execution)
        except StopIteration:
            if self.has_stepped:
                raise
            raise ValueError(NO_EXAMPLES) from None  # Keras has no logs to return
        self.has_stepped = True
        if self.checked is not iterator:
            _check_same_batch(batches[0])
            self.checked = iterator
        shapes = [jax.tree.map(jnp.shape, batch) for batch in batches]
        if all(shape == shapes[0] for shape in shapes):
            return self.run(state, batches)
        for batch in batches:
            logs, state = self.run(state, (batch,))
        return logs, state


def one_or_more(step: Callable, shard: Callable | None = None) -> Callable:
    """Makes a function of `(state, batches)`; `shard` gives each device its rows of a batch."""

    def step_of(state, batch):
        return step(state, shard(batch) if shard else batch)

    def steps(state, batches):
        if len(batches) == 1:
            return step_of(state, batches[0])

        def scanned(state, batch):
            logs, state = step_of(state, batch)
            return state, logs

        stacked = jax.tree.map(lambda *values: jnp.stack(values), *batches)
        state, logs = jax.lax.scan(scanned, state, stacked)
        last_logs = jax.tree.map(lambda values: values[-1], logs)
        return last_logs, state

    return steps


def compiled(steps: Callable, shardings: Any = None) -> Callable:
    """Compiles `steps` with donated state and the given shardings of the new state."""
    if shardings is not None:
        shardings = (None, shardings)
    return jax.jit(steps, donate_argnums=0, out_shardings=shardings)


def _is_compiled(model):
    return bool(model.jit_compile and not model.run_eagerly)


def _with_values(variables, values):
    return keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True)))


def _by_variable(variables, values):
    return dict(zip(map(id, variables), values, strict=True))


def _laid_out(data, by_row):
    """Gives each device its rows of a batch, or all, so that every process can read them."""
    distribution = keras.distribution.distribution()
    if distribution is None:
        return data

    def lay_out(values):
        axes = [distribution.batch_dim_name] if by_row else [None] * values.ndim
        layout = keras.distribution.TensorLayout(axes, distribution.device_mesh)
        return keras.distribution.distribute_tensor(values, layout)

    return jax.tree.map(lay_out, data)


_sharded = functools.partial(_laid_out, by_row=True)
_replicated = functools.partial(_laid_out, by_row=False)


def _check_same_batch(batch):
    distribution = keras.distribution.distribution()
    if jax.process_count() == 1 or not isinstance(distribution, ReplicatedBatches):
        return
    checksum = 0
    for values in jax.tree.leaves(batch):
        checksum = zlib.crc32(values.addressable_data(0).tobytes(), checksum)
    check_same(
        checksum >> 1,
        "All processes must be given the same batches, because each takes its own rows of them. "
        "Call keras.utils.set_random_seed with one seed in all, and shuffle data with seeds.",
    )


def _over_parts(function, carried, batch, parts):
    """Calls `function(carried, part)` for each part; results are in the order of the batch's rows.

    Part i has rows i, i + parts, ..., so each device splits its own rows.
    """
    rows = num_rows(batch)
    if parts == 1:
        return function(carried, batch)
    if rows % parts == 0:

        def interleaved(values):  # [B, ...] to [parts, B / parts, ...]
            return jnp.moveaxis(values.reshape(-1, parts, *values.shape[1:]), 1, 0)

        def in_order(values):  # [parts, B / parts, ...] to [B, ...]
            return jnp.moveaxis(values, 0, 1).reshape(rows, *values.shape[2:])

        carried, results = jax.lax.scan(function, carried, jax.tree.map(interleaved, batch))
        return carried, jax.tree.map(in_order, results)
    results = []
    order = []  # the rows of the parts, one after the other
    for index in range(min(parts, rows)):
        part_rows = slice(index, None, parts)
        part = jax.tree.map(operator.itemgetter(part_rows), batch)
        carried, result = function(carried, part)
        results.append(result)
        order.extend(range(rows)[part_rows])
    positions = np.argsort(order)
    return carried, jax.tree.map(lambda *values: jnp.concatenate(values)[positions], *results)


def _zeros(values):
    """Returns zeros to add gradients to, in float32 at least."""
    zeros = []
    for value in values:
        dtype = jnp.promote_types(value.dtype, "float32")
        zeros.append(jnp.zeros_like(value, dtype=dtype))
    return zeros
