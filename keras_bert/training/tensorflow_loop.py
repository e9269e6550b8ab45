"""`fit` and `evaluate` on TensorFlow, the same on any number of replicas."""

import functools
import math
import threading
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert.kernels.blocks import shared_functions
from keras_bert.kernels.onednn import computes_on_cpus, patterns_of_onednn
from keras_bert.training.global_loss import (
    GlobalLoss,
    compares_examples,
    counted_weights,
    num_rows,
    seed_states,
)
from keras_bert.training.keras_internals import (
    has_onednn,
    replica_specs,
    step_loss,
    without_tracing_warning,
)
from keras_bert.training.prediction import predict_each

_ONE_AT_A_TIME = threading.RLock()  # replicas of several threads would miss rows


class TrainLoop(GlobalLoss):
    """A train loop for `keras.Model` that is correct under every `tf.distribute.Strategy`.

    It differs from Keras's own (3.15) as follows:

    - losses cover the global batch (`GlobalLoss`), and metrics count every row once;
    - `accumulation_steps` parts of a batch are processed one after the other, and the optimizer
      takes one step with the sum of their gradients;
    - `steps_per_execution` steps run in one graph, also under a strategy, and none past the end;
    - `jit_compile` compiles the forward and backward pass of a replica; communication between
      replicas and the optimizer are not compiled. `"auto"` compiles if there is a GPU;
    - the model is built without drawing a batch of the data;
    - arrays of a `PyDataset` or a generator keep their values with several replicas.
    """

    @property
    def _num_replicas(self):
        return self.distribute_strategy.num_replicas_in_sync

    def _total(self, value):
        return tf.distribute.get_replica_context().all_reduce("SUM", value)

    def train_step(self, data):
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        if self._is_split and compares_examples(self, y):
            gradients = self._gradients_over_batch(x, y, sample_weight)
        else:
            gradients = self._gradients(x, y, sample_weight)
        self._take_step(gradients)
        return self.get_metrics_result()

    def test_step(self, data):
        with self._for_inference():
            x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
            if self._num_replicas == 1 or not compares_examples(self, y):
                return super().test_step(data)
            outputs = self(x, training=False)
            self._loss_over_batch(x, y, outputs, sample_weight, training=False)
            return self.get_metrics_result()

    def predict_step(self, data):
        if self._num_replicas > 1 and not self.jit_compile:
            data = _copied(data)
        with self._for_inference(), shared_functions():
            return super().predict_step(data)

    def _for_inference(self):
        """Tells layers which kernels there are for the graph of a step without gradients."""
        takes = has_onednn() and computes_on_cpus() and not self.jit_compile
        return patterns_of_onednn(takes)

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            if not self.optimizer.built:  # variables created in a trace make TensorFlow trace twice
                with self.distribute_strategy.scope():
                    self.optimizer.build(self.trainable_variables)
            self.train_function = Execution(self, self.train_step)

    def make_test_function(self, force=False):
        if self.test_function is None or force:
            self.test_function = Execution(self, self.test_step)

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int | str = "auto",
        steps: int | None = None,
        callbacks: list[keras.callbacks.Callback] | None = None,
    ) -> Any:
        """Like `keras.Model.predict`, but arrays get no `tf.data` pipeline, which takes .1 s."""
        if self._num_replicas > 1:
            with _ONE_AT_A_TIME:
                return super().predict(x, batch_size, verbose, steps, callbacks)
        arrays = keras.tree.flatten(x)
        is_plain = self.steps_per_execution == 1 and steps is None and _are_columns(arrays)
        has_strategy = self.distribute_strategy is not tf.distribute.get_strategy()
        if not is_plain or has_strategy or tf.distribute.has_strategy():
            return super().predict(x, batch_size, verbose, steps, callbacks)
        size = batch_size or 32

        def batch(start):
            return keras.tree.map_structure(lambda values: values[start : start + size], x)

        starts = range(0, len(arrays[0]), size)
        batches = [(functools.partial(batch, start), size) for start in starts]
        outputs = predict_each(self, batches, verbose, callbacks)
        return keras.tree.map_structure(lambda *arrays: np.concatenate(arrays), *outputs)

    def predict_on_batch(self, x: Any) -> Any:
        if self._num_replicas == 1:
            return super().predict_on_batch(x)
        # Keras would make every replica predict the entire batch.
        return self.predict(x, batch_size=num_rows(x), verbose=0)

    def _take_step(self, gradients):
        """Updates weights. Keras looks for an overflow of float16 in the first replica alone."""
        scales_loss = isinstance(self.optimizer, keras.optimizers.LossScaleOptimizer)
        if scales_loss and self._num_replicas > 1:
            is_finite = self.optimizer.check_finite(gradients)
            overflows = self._total(1.0 - tf.cast(is_finite, "float32"))
            nan_or_zero = tf.where(overflows > 0, math.nan, 0.0)
            for index, gradient in enumerate(gradients):
                if gradient is not None:
                    gradients[index] = gradient + tf.cast(nan_or_zero, gradient.dtype)
        self.optimizer.apply(gradients, self.trainable_variables)

    def _gradients(self, x, y, sample_weight):
        """Returns this replica's gradients of the global batch's loss."""
        weights, densities = self._scaled_weights(x, y, sample_weight)
        batch = (x, y, sample_weight, weights)
        rows = self._total(_num_rows(x))

        def gradients_of(part):
            with tf.GradientTape() as tape:
                loss = self._loss_and_metrics(part, densities, training=True)
                share = tf.math.divide_no_nan(_num_rows(part[0]), rows)
                loss *= tf.cast(share, loss.dtype)
                loss = self.optimizer.scale_loss(loss)
            return _dense(tape.gradient(loss, self.trainable_variables))

        if self.jit_compile and not self.run_eagerly:
            gradients_of = tf.function(gradients_of, jit_compile=True)
        return self._sum_gradients(gradients_of, batch)

    def _num_parts(self, x):
        rows = num_rows(x)
        if tf.is_tensor(rows):
            return self.accumulation_steps
        return min(self.accumulation_steps, rows)  # a million empty parts would take minutes

    def _sum_gradients(self, gradients_of, batch):
        """Adds the gradients of the parts of a batch, one after the other, in float32."""
        num_parts = self._num_parts(batch[0])
        if num_parts == 1:
            return gradients_of(batch)
        zeros = []
        for variable in self.trainable_variables:
            dtype = keras.backend.result_type(variable.dtype, "float32")
            zeros.append(tf.zeros(variable.shape, dtype))
        if not num_parts:
            return zeros

        def add(index, sums):
            gradients = gradients_of(_part(batch, index, num_parts))
            added = []
            for total, gradient in zip(sums, gradients, strict=True):
                if gradient is not None:
                    total += tf.cast(gradient, total.dtype)
                added.append(total)
            return index + 1, added

        return _loop(add, zeros, num_parts)

    def _gradients_over_batch(self, x, y, sample_weight):
        """Returns this replica's gradients of a loss that compares examples; see `BatchLoss`."""

        def embed(part):
            return self(part, training=True)

        if self.jit_compile and not self.run_eagerly:
            embed = tf.function(embed, jit_compile=True)
        num_parts = self._num_parts(x)
        if num_parts == 1:
            with tf.GradientTape() as tape:
                outputs = embed(x)
            upstream = self._loss_over_batch(x, y, outputs, sample_weight, training=True)
            return _dense(tape.gradient(outputs, self.trainable_variables, upstream))
        states = seed_states(self)
        seeds = [tf.identity(state.value) for state in states]
        outputs = self._outputs_of_parts(embed, x, num_parts)
        upstream = self._loss_over_batch(x, y, outputs, sample_weight, training=True)
        for state, seed in zip(states, seeds, strict=True):
            state.assign(seed)  # the same dropout again

        def gradients_of(part):
            x, upstream = part
            with tf.GradientTape() as tape:
                outputs = embed(x)
            return tape.gradient(outputs, self.trainable_variables, upstream)

        return self._sum_gradients(gradients_of, (x, upstream))

    def _outputs_of_parts(self, embed, x, num_parts):
        outputs = tf.TensorArray(self.output.dtype, num_parts, infer_shape=False)

        def add(index, outputs):
            part = _part(x, index, num_parts)
            return index + 1, outputs.write(index, embed(part))

        outputs = _loop(add, outputs, num_parts).concat()
        texts = [len(x)] if isinstance(x, tuple) else []
        rows = num_rows(x)
        shape = [None if tf.is_tensor(rows) else rows, *texts, self.output.shape[-1]]
        return tf.ensure_shape(outputs, shape)

    def _loss_over_batch(self, x, y, outputs, sample_weight, training):
        """Updates metrics; returns the gradients of the scaled loss by this replica's outputs.

        The loss is that of the global batch, from its outputs on all replicas.
        """
        labels = tf.nest.map_structure(_gathered, y)
        weights = tf.nest.map_structure(_gathered, sample_weight)
        counted = None
        if isinstance(x, dict) and "window_share" in x:
            counted = {"window_share": _gathered(x["window_share"])}
        weights = self._scaled_weights(counted, labels, weights, training)
        weights = counted_weights(*weights, num_rows(outputs))
        with tf.GradientTape() as tape:
            tape.watch(outputs)
            loss = step_loss(self, None, labels, _gathered(outputs), weights, training)
            share = loss / self._num_replicas  # each adds its gradient of the same loss
            scaled = self.optimizer.scale_loss(share) if training else share
        self.compute_metrics(x, y, outputs, sample_weight)
        return tape.gradient(scaled, outputs) if training else None

    def make_predict_function(self, force=False):
        if self.predict_function is not None and not force:
            return
        super().make_predict_function(force)
        without_tracing_warning(self.predict_function)
        if not (self.run_eagerly or self.jit_compile or tf.distribute.has_strategy()):
            self.predict_function = _for_any_size(self.predict_function, self.input)

    def _batch_spec(self, iterator):
        return replica_specs(iterator)


class Execution:
    """A function of an iterator: `steps_per_execution` steps of a model, or the remaining ones.

    Of an iterator of Python, it takes one step. `step` is the model's `train_step` or `test_step`.
    """

    def __init__(self, model, step):
        self.model = model
        self.step = step
        self.limit = model.steps_per_execution
        self.of_batch = self._one_step
        self.of_iterator = self._many_steps
        if not model.run_eagerly:
            self.of_batch = tf.function(self._one_step, reduce_retracing=True)
            self.of_iterator = tf.function(self._many_steps, reduce_retracing=True)
            without_tracing_warning(self.of_batch)
            without_tracing_warning(self.of_iterator)

    def __call__(self, iterator):
        if isinstance(iterator, (tf.data.Iterator, tf.distribute.DistributedIterator)):
            return self.of_iterator(iterator)
        return self.of_batch(next(iterator))  # from train_on_batch

    @tf.autograph.experimental.do_not_convert
    def _one_step(self, data):
        return self._over_replicas(self._of_replicas(data))

    @tf.autograph.experimental.do_not_convert
    def _many_steps(self, iterator):
        logs = self._of_replicas(iterator.get_next())
        if self.limit == 1:
            return self._over_replicas(logs)

        def next_step(done, _, logs):
            data = iterator.get_next_as_optional()
            has_data = data.has_value()
            logs = tf.cond(has_data, lambda: self._of_replicas(data.get_value()), lambda: logs)
            return done + 1, has_data, logs

        def is_next(done, has_data, _):
            return (done < self.limit) & has_data

        _, _, logs = tf.while_loop(is_next, next_step, (1, True, logs))
        return self._over_replicas(logs)

    def _of_replicas(self, data):
        """Takes a step; returns its logs, each a tuple with the value of each local replica."""
        strategy = self.model.distribute_strategy
        logs = strategy.run(self._of_replica, args=(data,))
        return {n: strategy.experimental_local_results(value) for n, value in logs.items()}

    def _of_replica(self, data):  # parts of a step that need no data would run again at the end
        needed = [v for v in tf.nest.flatten(data) if v is not None]
        with tf.control_dependencies(needed), shared_functions():
            return self.step(_copied(data))

    def _over_replicas(self, logs):
        """Returns metrics of all replicas, once an execution; other logs as means."""
        if self.model.distribute_strategy.num_replicas_in_sync == 1:
            return {name: value for name, [value] in logs.items()}
        metrics = self.model.get_metrics_result()
        means = {name: tf.reduce_mean(values, axis=0) for name, values in logs.items()}
        return {name: metrics.get(name, mean) for name, mean in means.items()}


def _for_any_size(function, inputs):
    """Makes a `tf.function` of batches trace once for all their numbers and lengths of rows.

    TensorFlow would trace the first batch as it is, and another one for any size.
    """
    traced = set()

    def trace(batches):
        specs = []
        for path, values in keras.tree.flatten_with_path(batches):
            if not hasattr(values, "dtype"):
                return
            shape = getattr(inputs.get(path[-1]), "shape", [None] * values.ndim)
            specs.append((path, tf.TensorSpec(shape, values.dtype)))
        if tuple(specs) not in traced:
            traced.add(tuple(specs))
            specs = [spec for _, spec in specs]
            function.get_concrete_function(keras.tree.pack_sequence_as(batches, specs))

    def call(batches):
        trace(batches)
        return function(batches)

    call.__wrapped__ = function
    return call


def _loop(step, carried, times):
    """Calls `step(index, carried)`, which returns the next of both, one after the other."""
    _, carried = tf.while_loop(
        lambda index, _: index < times,
        step,
        (tf.constant(0), carried),
        parallel_iterations=1,
    )
    return carried


def _part(batch, index, num_parts):
    """Returns the rows of a part of a batch, with a static count if the batch has one."""

    def rows_of(values):
        if values is None:
            return None
        rows = values.shape[0]
        if rows is not None and rows % num_parts == 0:
            shape = (num_parts, rows // num_parts, *values.shape[1:])
            return tf.reshape(values, shape)[index]
        rows = tf.shape(values)[0]
        return values[rows * index // num_parts : rows * (index + 1) // num_parts]

    return tf.nest.map_structure(rows_of, batch)


def _dense(gradients):
    return [None if g is None else tf.convert_to_tensor(g) for g in gradients]


def _copied(data):
    """Copies a batch, on CPUs: parts of it are in the memory of the arrays that made it.

    TensorFlow (2.21) doesn't count their owners. It computes in place in a replica's rows of an
    array from a `PyDataset` or a generator, whose next epoch then has other numbers.
    """
    if not computes_on_cpus():
        return data

    def copied(values):
        return None if values is None else tf.raw_ops.DeepCopy(x=values)

    return tf.nest.map_structure(copied, data)


def _gathered(value):
    if value is None:
        return None
    return tf.distribute.get_replica_context().all_gather(value, axis=0)


def _are_columns(arrays):
    """Returns whether values are arrays or tensors with the same number of rows, at least one."""
    counts = set()
    for values in arrays:
        if not isinstance(values, (np.ndarray, tf.Tensor)) or not values.ndim:
            return False
        counts.add(values.shape[0])
    return len(counts) == 1 and 0 not in counts


def _num_rows(x):
    return tf.cast(num_rows(x), "float32")
