"""The private parts of Keras and TensorFlow that this library uses, each with its reason.

No other file uses a private part of Keras (`tests/training/test_keras_internals.py`), so a new
release is checked only against this page. It is written for Keras 3.15 and 3.16. The page has:

- `TrainerHooks`: what `keras.Model` calls and keeps by private names;
- functions on a compiled model: its losses, metrics and build;
- `SummedOptimizer`: methods of an optimizer that Keras calls by private names;
- functions on layers and variables, for loading and saving;
- what TensorFlow and Keras are doing: their kernels, and the file that is written.
- `DataAdapter`: the base of a stream's batches. Only it can begin a new pass for each epoch, of an
  unknown number of batches, on every backend; Keras takes a generator for a single pass.

What Keras would have to offer in their place:

| private | public |
|---|---|
| `_compute_loss`, `_loss_tracker` | a `compute_loss` that says what it divided by, for the log |
| `_compile_loss`, `_flat_losses` | the losses of `compile` by output, and their reduction |
| `_compile_metrics`, `_flat_metrics`, `_flatten_y`, ... | weights for the metrics of `compile` |
| `_user_metrics`, `_user_weighted_metrics` | the arguments of `compile` |
| `_symbolic_build`, `_maybe_symbolic_build`, `_dataset`, ... | a `build` from specs of a batch |
| `_resolve_auto_jit_compile` | a default of `jit_compile` for a class |
| `_get_jax_state`, `_jax_state` | a state on JAX that an error in `fit` gives back |
| `_get_state_sharding_spec` | shardings of a step as an argument |
| `_use_cached_eval_dataset` | an argument of `evaluate` that says who calls it |
| `_clip_gradients`, `_all_reduce_sum_gradients` | clipping after the sum over replicas |
| `_backend_update_step`, `_apply_weight_decay`, ... | an `update_step` of all variables |
| `_overwrite_model_variables_with_average_value`, ... | averages of weights in float32 |
| `_trainable_variables`, `_get_variable_index` | the variables of an optimizer, in order |
| `_learning_rate` | the schedule of an optimizer |
| `_flatten_layers`, `_non_trainable_variables` | layers and variables at any depth |
| `_dtype_policy` | a `dtype_policy` that replaces the one of a map |
| `_autocast` | whether a variable is cast |
| `_initializer` | values for variables of a `StatelessScope` |
| `_kernel`, `_embeddings`, `_get_..._merged_lora`, `_tracker` | a `disable_lora` of layers |
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import keras
from keras.dtype_policies import DTypePolicyMap
from keras.src.backend.common import global_state
from keras.src.losses.loss import unscale_loss_for_distribution
from keras.src.trainers.data_adapters import data_adapter_utils
from keras.src.trainers.data_adapters.data_adapter import DataAdapter as DataAdapter

from keras_bert.saved import Saved

_LISTS = getattr(data_adapter_utils, "PartialBatchList", ())  # of batches, in Keras 3.16


class CountedWeights(NamedTuple):
    """Weights of a step's loss, which is tracked as a mean over what it counts."""

    weights: Any
    counts: dict  # by output, None if there is one: what its loss divides by, such as rows


class TrainerHooks:
    """Hooks into `keras.Model.fit` where Keras has only private methods.

    Three of Keras's methods call a hook, which a train loop overrides:

    | Keras calls | hook | without the override |
    |---|---|---|
    | `_compute_loss` | `_loss_context` | the JAX trainer computes replica-dependent losses |
    | `_compute_loss` | `_loss_arguments` | losses of packed rows would count unused slots |
    | `_compute_loss` | `CountedWeights` | the logged loss would depend on how rows are batched |
    | `_symbolic_build` | `_batch_spec` | `fit` draws a batch, so shuffled data begins with pass 2 |
    | `_maybe_symbolic_build` | `_batch_spec` | the same on TensorFlow; several workers crash |
    | `_resolve_auto_jit_compile` | | no XLA under a strategy |
    | `_get_jax_state` | | errors lose weights, and threads can't predict at once |

    If Keras renames one, the tests of pairs, of exact resumption and of XLA fail.
    """

    def _batch_spec(self, iterator):
        """Returns the specs of one replica's batch, or None to let Keras draw a batch."""
        return getattr(iterator.data_adapter, "first", None)  # of a `StreamBatches`

    def _compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        is_counted = isinstance(sample_weight, CountedWeights)
        weights, counts = sample_weight if is_counted else (sample_weight, {})
        arguments = self._loss_arguments(x, y, y_pred, weights)
        with self._loss_context(), output_means(self, counts) as losses:
            loss = super()._compute_loss(x, *arguments, training)
        # Keras's division by the replicas is undone: `GlobalLoss` weights them by their rows.
        loss = unscale_loss_for_distribution(loss)
        if is_counted:
            [count, *_] = counts.values()
            self._loss_tracker.update_state(loss - sum(losses), sample_weight=count)
        return loss

    def _symbolic_build(self, iterator=None, data_batch=None):
        if data_batch is None:
            data_batch = self._batch_spec(iterator)
        super()._symbolic_build(iterator, data_batch)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        strategy = getattr(self, "_distribute_strategy", None)  # only TensorFlow's trainer has it
        of_optimizer = getattr(self.optimizer, "_distribution_strategy", strategy)
        if strategy is not None and of_optimizer is not strategy:  # Keras's error names no scope
            raise ValueError(
                f"The optimizer was created outside the scope of the {type(strategy).__name__}. "
                "Create it, and create and compile the model, in `with strategy.scope():`."
            )
        if data_batch is None and iterator is not None:
            data_batch = self._batch_spec(iterator)
        super()._maybe_symbolic_build(iterator if data_batch is None else None, data_batch)
        if keras.backend.backend() == "jax":  # from Keras 3.16 on
            give_lists(iterator.data_adapter)

    def _resolve_auto_jit_compile(self):
        if keras.backend.backend() != "tensorflow":
            return super()._resolve_auto_jit_compile()
        import tensorflow as tf

        return bool(tf.config.list_logical_devices("GPU"))

    def _get_jax_state(self, purge_model_variables=False, **kinds):
        """Records the state, which Keras moves out of the variables, until a step has a new one."""
        if not kinds.get("metrics_variables"):  # of `predict`, whose function reads the variables
            return [], []
        state = super()._get_jax_state(purge_model_variables=purge_model_variables, **kinds)
        if purge_model_variables:
            names = [name for name in kinds if kinds[name]]
            self._jax_state = dict(zip(names, state, strict=True))
        return state


def give_lists(adapter: Any) -> None:
    """Has an adapter of data give lists of batches on JAX, which Keras 3.16 would stack.

    Batches of a `tf.data.Dataset` that differ in length can't be stacked.
    """

    def lists(super_batch):
        batches = iter(type(adapter).get_jax_iterator(adapter))
        return iter(lambda: _LISTS(itertools.islice(batches, super_batch or 1)), [])

    adapter.get_jax_iterator = lists


def next_batches(iterator: Iterator, steps: int) -> tuple:
    """Returns the next batches of an epoch on JAX, up to `steps`."""
    first = next(iterator)
    if isinstance(first, _LISTS):
        return tuple(first)
    return first, *itertools.islice(iterator, steps - 1)


def step_loss(
    model: keras.Model, x: Any, y: Any, y_pred: Any, sample_weight: Any, training: bool
) -> Any:
    """Computes and tracks the loss of a train or test step, as Keras's own train steps do.

    Unlike `compute_loss`, it supports a user's `compute_loss` without the argument `training`.
    """
    return model._compute_loss(x, y, y_pred, sample_weight, training)


def build_from_batch(model: keras.Model, batch: tuple) -> None:
    """Builds a compiled model's weights, losses, metrics and optimizer, as `fit` does first.

    Otherwise the first step creates variables while it is traced. `batch` may be one of specs.
    """
    model._symbolic_build(data_batch=batch)


def compiled_losses(model: keras.Model, y: Any) -> list:
    """Returns a compiled model's `(path, loss, weight, name)`; only a private list has the path."""
    compiled = model._compile_loss
    if compiled is None:
        return []
    if not compiled.built:
        compiled.build(y, model.output)
    return compiled._flat_losses


@contextlib.contextmanager
def replaced_losses(model: keras.Model, replacement: Callable) -> Iterator[None]:
    """Replaces each loss of a model by `replacement(loss)` inside a `with` block.

    Changing `reduction` on the user's own loss object would outlast the step; a second `compile`
    would lose metrics and the traced step.
    """
    compiled = model._compile_loss
    if compiled is None or not compiled.built:
        yield
        return
    losses = compiled._flat_losses
    compiled._flat_losses = [entry._replace(loss=replacement(entry.loss)) for entry in losses]
    try:
        yield
    finally:
        compiled._flat_losses = losses


def output_losses(model: keras.Model) -> list:
    """Returns the `(output, weight, mean)` of each loss, if a model of ours has several.

    Its own mean, the log "loss", is only of what is added to these, such as regularizers.
    """
    compiled = getattr(model, "_compile_loss", None)
    if compiled is None or not isinstance(model, TrainerHooks) or not compiled.metrics:
        return []
    found = []
    for (path, _, weight, _), mean in zip(compiled._flat_losses, compiled.metrics, strict=True):
        found.append((path[0], 1.0 if weight is None else weight, mean))
    return found


@contextlib.contextmanager
def output_means(model: keras.Model, counts: dict) -> Iterator[list]:
    """Has each output's loss tracked as a mean over its `counts`; yields their weighted values.

    Keras weights them by a static number of rows, or by 1.
    """
    losses = []

    def counted(update, count, weight):
        def update_by_count(value, sample_weight=None):  # Keras's weight isn't read
            losses.append(weight * value)
            return update(value, sample_weight=count)

        return update_by_count

    outputs = output_losses(model) if counts else []
    for output, weight, mean in outputs:
        mean.update_state = counted(mean.update_state, counts[output], weight)
    try:
        yield losses
    finally:
        for *_, mean in outputs:
            del mean.update_state


def dataset_specs(iterator: Any) -> Any:
    """Returns the specs of the `tf.data.Dataset` that an epoch iterator on JAX reads, or None."""
    dataset = getattr(iterator.data_adapter, "_dataset", None)
    return getattr(dataset, "element_spec", None)


def replica_specs(iterator: Any) -> Any:
    """Returns the specs of one replica's share of an epoch iterator's batches, on TensorFlow."""

    def first(spec):
        return spec._value_specs[0] if hasattr(spec, "_value_specs") else spec

    import tensorflow as tf

    return tf.nest.map_structure(first, iterator._distributed_dataset.element_spec)


def without_tracing_warning(function: Any) -> None:
    """Stops TensorFlow's warning of frequent traces, which counts those of all models together."""
    function._omit_frequent_tracing_warning = True


def has_onednn() -> bool:
    """Returns whether TensorFlow computes with oneDNN, which a variable of its environment ends."""
    from tensorflow.python.util import _pywrap_util_port

    return _pywrap_util_port.IsMklEnabled()


def update_metrics(model: keras.Model, y: Any, y_pred: Any, counts: Any, weights: Any) -> None:
    """Updates the metrics of `compile`; the unweighted ones get the `counts` of slots.

    Keras gives weights to `weighted_metrics` alone, so that unused slots would count in others. Its
    means divide the sum of a row by its slots, and would count those of a short batch more.
    """
    compiled = model._compile_metrics
    if compiled is None:
        return
    if not compiled.built:
        compiled.build(y, y_pred)
    metrics = [*compiled._flat_metrics, *compiled._flat_weighted_metrics]
    labels = 2 * compiled._flatten_y(y)
    outputs = 2 * compiled._flatten_y(y_pred)
    weights = compiled._flatten_y(counts) + compiled._flatten_y(weights)
    for of_output, *values, weight in zip(metrics, labels, outputs, weights, strict=True):
        for metric in of_output.metrics if of_output else ():
            is_mean = isinstance(metric, keras.metrics.Mean)
            if is_mean and weight is not None and len(weight.shape) > 1:
                slots = keras.ops.size(weight[:1])
                metric.update_state(*values, weight * keras.ops.cast(slots, weight.dtype))
            else:
                metric.update_state(*values, weight)


def given_metrics(model: keras.Model) -> list:
    """Returns the metrics that `compile` got, in one list; Keras keeps the names of some."""
    compiled = getattr(model, "_compile_metrics", None)
    if compiled is None:
        return []
    given = (compiled._user_metrics, compiled._user_weighted_metrics)
    return [metric for metric in keras.tree.flatten(given) if metric is not None]


def is_validation(arguments: dict[str, Any]) -> bool:
    """Returns whether `fit` calls `evaluate`, on the iterator that it has made of the data."""
    return arguments.get("_use_cached_eval_dataset", False)


def drop_metrics(model: keras.Model) -> None:
    """Drops the metrics of the last `compile`, which Keras keeps if the next one has none."""
    model._compile_metrics = None


def updated_variables(optimizer: keras.Optimizer) -> list:
    """Returns the variables that a built optimizer updates; no public method lists them."""
    return optimizer._trainable_variables


def state_shardings(model: keras.Model) -> tuple:
    """Returns the shardings of a model's state on JAX; without them a step may compile twice."""
    return model._get_state_sharding_spec()


class SummedOptimizer(Saved, keras.optimizers.Optimizer):
    """An optimizer that clips after the sum over replicas, and decays weights in `update_step`.

    Keras on TensorFlow clips each replica's gradients and then sums them, so with N replicas the
    norm of the sum may be N times too large. If Keras renames a method, tests of replicas fail.
    A subclass has `step_rates`, what each `update_step` gets as its learning rate, and
    `update_together`, which may update all variables at once in its place.
    """

    def _clip_gradients(self, grads):
        backend = keras.backend.backend()
        if backend == "tensorflow":
            summed = super()._all_reduce_sum_gradients([(gradient, None) for gradient in grads])
            grads = [gradient for gradient, _ in summed]
        if backend == "jax" or not self.global_clipnorm:
            return super()._clip_gradients(grads)
        if backend == "torch":
            from keras_bert.training.torch_updates import clip_by_global_norm_

            clip_by_global_norm_(grads, self.global_clipnorm)
            return grads
        import tensorflow as tf

        return tf.clip_by_global_norm(grads, self.global_clipnorm)[0]  # half of Keras's passes

    def _all_reduce_sum_gradients(self, grads_and_vars):
        return grads_and_vars

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        if not self.update_together(grads, trainable_variables, learning_rate):
            rates = self.step_rates(learning_rate)
            super()._backend_update_step(grads, trainable_variables, rates)

    def _apply_weight_decay(self, variables):
        """Leaves the decay to `update_step`; Keras would decay a second time."""

    def _overwrite_model_variables_with_average_value(self, trainable_variables):
        """Also writes float32 averages (`use_ema`) of bfloat16 weights, and not of frozen ones."""
        for variable in trainable_variables:
            average = self._model_variables_moving_average[self.index_of(variable)]
            if keras.backend.backend() == "tensorflow":
                update = self._distribution_strategy.extended.update
                update(getattr(variable, "value", variable), self.assign, args=(average,))
            else:
                variable.assign(keras.ops.copy(average))  # JAX can't donate an array twice

    def may_decay(self, variable: keras.Variable) -> bool:
        """Returns whether a variable is not excluded by `exclude_from_weight_decay`."""
        return self._use_weight_decay(variable)

    def index_of(self, variable: Any) -> int:
        """Returns the index, in `build`'s list, of a variable or of the `tf.Variable` in one."""
        return self._get_variable_index(variable)


def learning_rate_at(optimizer: keras.optimizers.Optimizer, step: int) -> float:
    """Returns the rate of the `step`-th step, from 1; `learning_rate` is that of the next step."""
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # of a LossScaleOptimizer
    rate = optimizer._learning_rate
    if isinstance(rate, keras.optimizers.schedules.LearningRateSchedule):
        rate = rate((step - 1) * (optimizer.gradient_accumulation_steps or 1))
    else:
        rate = optimizer.learning_rate
    return float(keras.ops.convert_to_numpy(rate))


def settings_of(optimizer: keras.optimizers.Optimizer) -> dict:
    """Returns an optimizer's config, with a schedule as its class and config.

    Keras's own writes the schedule as for a file, which imports TensorFlow on every backend, in
    seconds.
    """
    rate = optimizer._learning_rate
    if not isinstance(rate, keras.optimizers.schedules.LearningRateSchedule):
        return optimizer.get_config()
    optimizer._learning_rate = None
    try:
        config = optimizer.get_config()
    finally:
        optimizer._learning_rate = rate
    return {**config, "learning_rate": (type(rate), rate.get_config())}


def all_layers(model: keras.layers.Layer, include_self: bool = True) -> list[keras.layers.Layer]:
    """Lists all layers in a model or layer, at any depth; `Model.layers` has only the top level."""
    return list(model._flatten_layers(include_self=include_self))


def layer_variables(model: keras.Model) -> list[keras.Variable]:
    """Lists the variables of all layers, in a third of the time that `model.variables` takes."""
    variables = []
    for layer in all_layers(model):
        variables += layer._trainable_variables
        variables += layer._non_trainable_variables
    return variables


def autocast_variables(model: keras.Model) -> list[tuple[keras.Variable, str]]:
    """Lists a built model's variables that Keras casts when layers read them, with the dtypes."""
    dtypes = {}  # by the id of a variable; an inner layer comes after the layers around it
    for layer in all_layers(model):
        for variable in layer.variables:
            dtypes[id(variable)] = layer.compute_dtype
    pairs = []
    for variable in model.variables:
        dtype = dtypes[id(variable)]
        is_cast = variable._autocast and keras.backend.is_float_dtype(variable.dtype)
        if is_cast and variable.dtype != dtype:
            pairs.append((variable, dtype))
    return pairs


def resolve_policies(model: keras.Model) -> None:
    """Gives each layer without sub-layers its own policy, in place of a shared `DTypePolicyMap`.

    Keras 3.15 can neither save nor quantize a layer under a map: it reads the map's default instead
    of the layer's entry. Setting `dtype_policy` adds to the map and doesn't replace it.
    """
    for layer in all_layers(model, include_self=False):
        policy = layer.dtype_policy
        if isinstance(policy, DTypePolicyMap) and layer.path and len(all_layers(layer)) == 1:
            layer._dtype_policy = policy[layer.path]


def set_initial_value(variable: keras.Variable, initializer: Callable) -> None:
    """Sets what a variable of a `keras.StatelessScope` gets at its end, instead of a draw."""
    variable._initializer = initializer


def lora_table(layer: keras.layers.Layer) -> tuple[str, keras.Variable]:
    """Returns the attribute name and the variable of the weight that LoRA adds to in a layer.

    With LoRA, `layer.kernel` is the sum, an array without a path; the variable is private.
    """
    kernel = getattr(layer, "_kernel", None)
    if kernel is None:
        return "embeddings", layer._embeddings
    return "kernel", kernel


@contextlib.contextmanager
def exact_lora(model: keras.layers.Layer) -> Iterator[None]:
    """Has Keras add LoRA's matrices in the weights' dtype; it rounds to the compute dtype."""
    policies = {}  # by layer
    for layer in all_layers(model):
        if getattr(layer, "lora_enabled", False) and not layer.quantization_mode:
            policies[layer] = layer.dtype_policy
            layer._dtype_policy = keras.DTypePolicy(layer.variable_dtype)
    try:
        yield
    finally:
        for layer, policy in policies.items():
            layer._dtype_policy = policy


def merge_lora(layer: keras.layers.Layer) -> None:
    """Adds a layer's LoRA matrices to its weight and removes them; Keras can't disable LoRA.

    Keras quantizes the sum if the weight was.
    """
    name, table = lora_table(layer)
    with exact_lora(layer):
        if hasattr(layer, "_get_weight_with_merged_lora"):  # Keras 3.16
            sums = layer._get_weight_with_merged_lora(name)
        else:
            sums = getattr(layer, f"_get_{name}_with_merged_lora")()
    scale = getattr(layer, name + "_scale", None)
    zero = getattr(layer, name + "_zero", None)
    for variable, value in zip((table, scale, zero), sums, strict=True):
        if value is not None:
            variable.assign(value)
    layer._tracker.unlock()
    for attribute, value in list(vars(layer).items()):
        if attribute.startswith("lora_") and isinstance(value, keras.Variable):
            delattr(layer, attribute)
    layer._tracker.lock()
    layer.lora_enabled = False
    layer.lora_rank = None


def writes_assets() -> bool:
    """Returns whether Keras asks for a config of which it writes the assets to the same file.

    True in `model.save` and Orbax checkpoints, serialized in an `ObjectSharingScope`; False in
    `get_config` and `to_json`, which keep the config alone.
    """
    return global_state.get_global_attribute("shared_objects/id_to_config_map") is not None
