"""`fit` and `evaluate` on PyTorch, with the losses of the global batch and accumulation."""

import itertools

import keras
import torch

from keras_bert.training.global_loss import (
    GlobalLoss,
    compares_examples,
    counted_weights,
    num_rows,
    seed_states,
)
from keras_bert.training.keras_internals import step_loss


class TrainLoop(GlobalLoss):
    """A train loop for `keras.Model` on PyTorch, with `accumulation_steps` and global losses."""

    def train_step(self, data):
        x, y, sample_weight = _on_device(data)
        num_parts = self.accumulation_steps
        if self._is_split and compares_examples(self, y):
            self._add_gradients_over_batch(x, y, sample_weight)
            return self._take_step()
        weights, densities = self._scaled_weights(x, y, sample_weight)
        rows = num_rows(x)
        self._clear_gradients()
        for index in range(min(num_parts, rows)):
            part = _rows_of((x, y, sample_weight, weights), slice(index, None, num_parts))
            loss = self._loss_and_metrics(part, densities, training=True)
            loss = loss * (num_rows(part[0]) / rows)
            self.optimizer.scale_loss(loss).backward()  # adds to the gradients
        return self._take_step()

    def _clear_gradients(self):
        """Clears the gradients, and lets those of parts be summed in float32 at least."""
        self.zero_grad()
        for variable in self.trainable_variables:
            weight = variable.value
            weight.grad_dtype = torch.promote_types(weight.dtype, torch.float32)

    def _take_step(self):
        variables = self.trainable_variables
        gradients = [variable.value.grad for variable in variables]
        with torch.no_grad():
            self.optimizer.apply(gradients, variables)
        return self.get_metrics_result()

    def _add_gradients_over_batch(self, x, y, sample_weight):
        """Adds the gradients of a loss that compares examples, in parts; see `BatchLoss`."""
        rows = num_rows(x)
        count = min(self.accumulation_steps, rows)
        ends = [rows * index // count for index in range(count + 1)]
        parts = [_rows_of(x, slice(start, end)) for start, end in itertools.pairwise(ends)]
        states = seed_states(self)
        seeds = [state.value.clone() for state in states]
        self._clear_gradients()
        devices = range(torch.cuda.device_count())
        with torch.no_grad(), torch.random.fork_rng(devices):  # for the same dropout again
            outputs = torch.cat([self(part, training=True) for part in parts])
        outputs.requires_grad_()
        weights = counted_weights(*self._scaled_weights(x, y, sample_weight), rows)
        loss = step_loss(self, None, y, outputs, weights, True)
        self.compute_metrics(x, y, outputs, sample_weight)
        [upstream] = torch.autograd.grad(self.optimizer.scale_loss(loss), outputs)
        for state, seed in zip(states, seeds, strict=True):
            state.assign(seed)
        gradients = upstream.split([num_rows(part) for part in parts])
        for part, gradient in zip(parts, gradients, strict=True):
            self(part, training=True).backward(gradient)

    def test_step(self, data):
        return super().test_step(_on_device(data))


def _on_device(data):
    """Returns `(x, y, sample_weight)` on the model's device; a `DataLoader` gives CPU tensors."""

    def tensor(values):
        return None if values is None else keras.ops.convert_to_tensor(values)

    data = keras.tree.map_structure(tensor, data)
    return keras.utils.unpack_x_y_sample_weight(data)


def _rows_of(batch, rows):
    """Returns some rows, a slice, of all arrays of a batch."""

    def take(values):
        return None if values is None else values[rows]

    return keras.tree.map_structure(take, batch)
