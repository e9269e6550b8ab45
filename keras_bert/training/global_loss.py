"""Losses of the global batch that don't depend on how it is split."""

from typing import Any

import keras

from keras_bert.messages import check_int, check_one_of
from keras_bert.training.divergence import DivergenceMessage
from keras_bert.training.keras_internals import (
    CountedWeights,
    TrainerHooks,
    all_layers,
    compiled_losses,
    output_losses,
    replaced_losses,
    step_loss,
    update_metrics,
)
from keras_bert.training.processes import is_chief
from keras_bert.training.slots import (
    as_labels,
    is_packed,
    slot_weights,
    slots_as_rows,
    used_slots,
)

_BY_WEIGHTS = "mean_with_sample_weight"  # the reduction that divides by the weights
_MEANS = ("sum_over_batch_size", "mean", _BY_WEIGHTS)


class GlobalLoss(TrainerHooks):
    """Mixin that computes losses as means over the global batch, however the batch is split.

    A batch is split among replicas, and each replica splits its rows into `accumulation_steps`
    parts. Keras takes the mean of the parts' means, which differs from the mean over the batch if
    their weights differ. Here the loss of each part is scaled so that the mean over parts, weighted
    by their rows, is the loss of the global batch:

    - a loss that is a mean over rows is the part's own mean;
    - a loss that divides by its weights (`reduction="mean_with_sample_weight"`) gets weights that
      are divided by their mean over the global batch, and so becomes a mean over rows too.

    An example of the second: a batch of 4 tokens has the losses [1, 2, 3, 4] and the weights
    [1, 0, 1, 1]. Its loss is (1 + 3 + 4) / 3 = 2.667. If it is split in two, the first part has
    1 / 1 = 1 and the second (3 + 4) / 2 = 3.5, and their mean is 2.25: wrong. The weights' mean
    over the batch is 3/4; divided by it, the weights are [4/3, 0, 4/3, 4/3]. The means over rows
    are then (4/3 * 1 + 0) / 2 = 0.667 and (4/3 * 3 + 4/3 * 4) / 2 = 4.667, and their mean is 2.667.

    If several processes train together, the first shows progress, writes TensorBoard logs, and logs
    a message if the loss becomes NaN or infinite.
    """

    accumulation_steps = 1
    _num_replicas = 1

    @property
    def _is_split(self):
        """Whether several replicas or parts share a batch of `fit`."""
        return self.accumulation_steps * self._num_replicas > 1

    def _total(self, value):
        """Returns the sum of a float32 scalar over all replicas."""
        return value

    def fit(
        self, *args: Any, callbacks: list[keras.callbacks.Callback] | None = None, **kwargs: Any
    ) -> keras.callbacks.History:
        callbacks = keras.tree.flatten(callbacks or [])
        if is_chief(self):
            callbacks.append(DivergenceMessage())
        else:
            kwargs["verbose"] = 0
            board = keras.callbacks.TensorBoard
            callbacks = [callback for callback in callbacks if not isinstance(callback, board)]
        return super().fit(*args, callbacks=callbacks, **kwargs)

    def _set_accumulation(self, accumulation_steps):
        """Sets the number of parts that each replica splits its batch into."""
        check_int("accumulation_steps", accumulation_steps)
        if accumulation_steps != self.accumulation_steps:
            self.accumulation_steps = accumulation_steps
            self.train_function = None  # it was traced for the old number

    def _check_whole_executions(self, arguments):
        """Raises a ValueError if a number of steps is not a multiple of `steps_per_execution`."""
        for name in ("steps_per_epoch", "validation_steps", "steps"):
            steps = arguments.get(name)
            if self.compiled and steps and steps % self.steps_per_execution:
                raise ValueError(
                    f"{name}={steps} is not a multiple of steps_per_execution="
                    f"{self.steps_per_execution}, so more steps would run. Compile with one of its "
                    "divisors."
                )

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        if not is_chief(self):
            kwargs["verbose"] = 0
        return super().evaluate(*args, **kwargs)

    def test_step(self, data):
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        weights, densities = self._scaled_weights(x, y, sample_weight, training=False)
        self._loss_and_metrics((x, y, sample_weight, weights), densities, training=False)
        return self.get_metrics_result()

    def _scaled_weights(self, x, y, sample_weight, training=True):
        """Scales sample weights so that the losses of parts have the global batch's mean.

        `x`, `y` and `sample_weight` are this replica's, and the weights are for its parts. If
        batches are split, each loss must be a mean; only training splits them into parts.

        Returns:
            The weights, in the structure of labels, and for each output the mean over rows of what
            its loss counts, such as slots: 1 if it counts rows.
        """
        losses = compiled_losses(self, y)
        if self._is_split if training else self._num_replicas > 1:
            for _, loss, _, name in losses:
                hint = " Others depend on how a batch is split."
                check_one_of(f"reduction of the loss {name!r}", loss.reduction, _MEANS, hint)
        counts, weights = slot_weights(self, used_slots(x, y), y, sample_weight)
        densities = dict.fromkeys(counts, 1.0)
        for path, loss, _, _ in losses:
            output = path[0] if path else None
            divisors = (weights if loss.reduction == _BY_WEIGHTS else counts)[output]
            if divisors is None or loss.reduction not in _MEANS:
                continue
            divisors = keras.ops.cast(divisors, "float32")
            sums = self._total(keras.ops.sum(divisors))
            number = self._total(keras.ops.cast(keras.ops.size(divisors), "float32"))
            given = keras.ops.cast(weights[output], "float32")
            weights[output] = given * keras.ops.divide_no_nan(number, sums)
            slots_of_row = keras.ops.cast(keras.ops.size(divisors[:1]), "float32")
            densities[output] = keras.ops.divide_no_nan(sums, number) * slots_of_row
        return as_labels(weights), densities

    def _loss_and_metrics(self, part, densities, training):
        """Returns the loss of a part as if it were the entire batch; updates all metrics."""
        x, y, sample_weight, weights = part
        weights = counted_weights(weights, densities, num_rows(x))
        y_pred = self(x, training=training)
        loss = step_loss(self, x, y, y_pred, weights, training)
        self.compute_metrics(x, y, y_pred, sample_weight)
        return loss

    def _loss_arguments(self, x, y, y_pred, weights):
        """Returns `(y, y_pred, weights)` as a step's loss takes them."""
        values = (y, y_pred, weights)
        if not is_packed(used_slots(x, y)):
            return values
        return tuple(slots_as_rows(self, each) for each in values)

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> dict[str, Any]:
        used = used_slots(x, y)
        values = [y, y_pred, *map(as_labels, slot_weights(self, used, y, sample_weight))]
        if is_packed(used):
            values = [slots_as_rows(self, each) for each in values]
        update_metrics(self, *values)
        return self.get_metrics_result()

    def get_metrics_result(self) -> dict[str, Any]:
        """Returns the logs; the loss is the sum of its outputs' means, which differ in counts."""
        logs = super().get_metrics_result()
        for _, weight, mean in output_losses(self):
            logs["loss"] += weight * mean.result()
        return logs

    def _loss_context(self):
        """Makes losses means over rows, which `_scaled_weights` needs."""
        return replaced_losses(self, _mean_over_rows)


def compares_examples(model: keras.Model, y: Any) -> bool:
    """Returns whether a loss needs the outputs of all examples of the batch at once.

    Such a loss, a `BatchLoss`, has the attribute `over_batch`. It gets the global batch.
    """
    losses = [loss for _, loss, _, _ in compiled_losses(model, y)]
    return any(getattr(loss, "over_batch", False) for loss in losses)


def seed_states(model: keras.Model) -> list:
    """Returns the states of all dropout seeds, to embed a part of a batch twice alike."""
    layers = [layer for layer in all_layers(model) if hasattr(layer, "seed_generator")]
    return [layer.seed_generator.state for layer in layers]


def counted_weights(weights: Any, densities: dict, rows: Any) -> CountedWeights:
    """Returns the weights of a part of a batch, with what its losses count."""
    rows = keras.ops.cast(rows, "float32")
    counts = {output: rows * density for output, density in densities.items()}
    return CountedWeights(weights, counts)


def num_rows(x: Any) -> Any:
    """Returns the number of rows of inputs, a tensor if their shapes don't tell it."""
    inputs = [values for values in keras.tree.flatten(x) if values is not None]
    return keras.ops.shape(inputs[0])[0]


def _mean_over_rows(loss):
    if loss.reduction not in _MEANS:
        return loss
    call = loss.call

    def call_with_axis(*values):
        losses = call(*values)
        # Keras divides all means but those of scalars by the number of replicas.
        return losses if len(losses.shape) else losses[None]

    # `copy` would serialize the loss, which fails for a user's own functions.
    over_rows = object.__new__(type(loss))
    vars(over_rows).update(vars(loss), reduction="mean", call=call_with_axis)
    return over_rows
