"""`fit` and `evaluate` on PyTorch, with the losses of the global batch and accumulation."""

import itertools
from typing import Any

import keras
import torch

from keras_bert.training.global_loss import GlobalLoss, num_rows
from keras_bert.training.keras_internals import step_loss, track_loss
from keras_bert.training.packed_slots import sequences_per_row


class TrainLoop(GlobalLoss):
    """A train loop for `keras.Model` on PyTorch, with `accumulation_steps` and global losses."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y, sample_weight = _on_device(data)
        parts = self.accumulation_steps
        if parts > 1 and self.compares_examples(y):
            self._add_gradients_over_batch(x, y, sample_weight)
            return self._applied()
        weights = self.scaled_weights(x, y, sample_weight, lambda value: value, parts > 1)
        rows, density = num_rows(x), sequences_per_row(x, lambda value: value)
        self._clear_gradients()
        for number in range(min(parts, rows)):
            part = keras.tree.map_structure(
                lambda values, number=number: None if values is None else values[number::parts],
                (x, y, sample_weight, weights),
            )
            own_rows = num_rows(part[0])
            loss = self.loss_and_metrics(part, own_rows * density, training=True)
            loss = loss * (own_rows / rows)
            self.optimizer.scale_loss(loss).backward()  # adds to the gradients
        return self._applied()

    def _clear_gradients(self):
        """Clears the gradients, and lets those of parts be summed in float32 at least."""
        self.zero_grad()
        for variable in self.trainable_variables:
            weight = variable.value
            weight.grad_dtype = torch.promote_types(weight.dtype, torch.float32)

    def _applied(self):
        variables = self.trainable_variables
        with torch.no_grad():
            self.optimizer.apply([variable.value.grad for variable in variables], variables)
        return self.get_metrics_result()

    def _add_gradients_over_batch(self, x, y, sample_weight):
        """Adds the gradients of a loss that compares examples, in parts; see `BatchLoss`."""
        rows = num_rows(x)
        count = min(self.accumulation_steps, rows)
        ends = itertools.pairwise(rows * number // count for number in range(count + 1))
        parts = [
            keras.tree.map_structure(lambda values, rows=slice(*each): values[rows], x)
            for each in ends
        ]
        states, devices = self.seed_states(), range(torch.cuda.device_count())
        seeds = [state.value.clone() for state in states]
        self._clear_gradients()
        with torch.no_grad(), torch.random.fork_rng(devices):  # for the same dropout again
            outputs = torch.cat([self(part, training=True) for part in parts])
        outputs.requires_grad_()
        weights = self.scaled_weights(None, y, sample_weight, lambda value: value, True)
        loss = step_loss(self, None, y, outputs, weights, True)
        track_loss(self, loss, rows)
        self.compute_metrics(None, y, outputs, sample_weight)
        (upstream,) = torch.autograd.grad(self.optimizer.scale_loss(loss), outputs)
        for state, seed in zip(states, seeds, strict=True):
            state.assign(seed)
        for part, gradients in zip(parts, upstream.split([*map(num_rows, parts)]), strict=True):
            self(part, training=True).backward(gradients)

    def test_step(self, data: Any) -> dict[str, Any]:
        x, y, sample_weight = _on_device(data)
        weights = self.scaled_weights(x, y, sample_weight, lambda value: value, False)
        examples = num_rows(x) * sequences_per_row(x, lambda value: value)
        self.loss_and_metrics((x, y, sample_weight, weights), examples, training=False)
        return self.get_metrics_result()


def _on_device(data):
    """Returns `(x, y, sample_weight)` on the model's device; a `DataLoader` gives CPU tensors."""
    data = keras.tree.map_structure(
        lambda values: None if values is None else keras.ops.convert_to_tensor(values), data
    )
    return keras.utils.unpack_x_y_sample_weight(data)
