"""Plan of pre-training on TPUs and GPUs, made without one."""

import math
from collections.abc import Callable

import keras

from keras_bert.messages import check_int
from keras_bert.planning import compiler
from keras_bert.planning.devices import find_chips
from keras_bert.planning.planned_step import PlannedStep, pretraining_flops
from keras_bert.training.describe_training import check_batch

_UPDATE_FLOPS = 29  # of AdamW, per weight, as the compiler counts them


class Plan:
    """A plan of pre-training on TPUs or GPUs: the memory it needs and the shortest time it takes.

    The step that `fit` runs on JAX is compiled by the chips' own compiler. No chip is needed, only
    Linux and `pip install "keras3-bert[tpu-plan]"` or `"keras3-bert[gpu-plan]"`. The precision is
    the model's: call `keras.config.set_dtype_policy("mixed_bfloat16")` before you make it.
    Communication between chips is compiled, but isn't included in the times.

    Args:
        device: str, the kind of chip, and the shape of a slice of TPUs or the number of GPUs.
            "v5e:2x2", "v4:2x2x1", "v5p:2x2x1" and "v6e:2x2" have 4 chips; "v5e:4x4" has 16. "h100"
            and "a100" are one GPU, "h100:8" are eight.
        sequence_length: int, tokens S of a row.
        max_predictions: int, prediction slots P of a row, by default as in `pretraining_dataset`.
        accumulation_steps: int, the parts that each chip's share of a batch is split into.
        sequences_per_row: int, the most sequences of a packed row; None if rows aren't packed.
        log: function that is called with each progress message.

    Raises:
        ValueError: if the device is unknown, a number is out of range, Keras's backend isn't JAX,
            or the compiler isn't installed.

    Example:
    ```python
    plan = Plan("v5e:2x2", sequence_length=128)
    step = plan.compile(model, batch_size=256)  # a BertPretrainer; takes minutes
    print(step.table(steps=1_000_000, utilization=0.4))
    ```
    """

    def __init__(
        self,
        device: str,
        sequence_length: int = 128,
        max_predictions: int | None = None,
        accumulation_steps: int = 1,
        sequences_per_row: int | None = None,
        log: Callable[[str], None] = print,
    ):
        self.chip, self.num_chips = find_chips(device)
        check_int("accumulation_steps", accumulation_steps)
        if sequences_per_row is not None:
            check_int("sequences_per_row", sequences_per_row)
        if max_predictions is None:
            max_predictions = 4 * math.ceil(0.15 * sequence_length / 4)
        check_int("max_predictions", max_predictions, at_most=sequence_length)
        compiler.check_compiler(self.chip)
        self.device = device
        self.sequence_length = sequence_length
        self.max_predictions = max_predictions
        self.accumulation_steps = accumulation_steps
        self.sequences_per_row = sequences_per_row
        self.log = log

    def __repr__(self):
        return f"Plan({self.device!r}, sequence_length={self.sequence_length})"

    def check_batch(self, batch_size: int) -> None:
        """Raises a `ValueError` if a batch can't be split evenly over chips and parts."""
        check_batch(batch_size, self.num_chips, self.accumulation_steps, "chip")

    def compile(self, model: keras.Model, batch_size: int) -> PlannedStep:
        """Compiles the step of a `BertPretrainer` for a batch size, which takes minutes.

        Args:
            model: a `BertPretrainer`.
            batch_size: int, rows B of a batch over all chips.

        Raises:
            ValueError: if the batch can't be split evenly over chips and parts, or the rows are
                longer than the model's `max_sequence_length`.
        """
        self.check_batch(batch_size)
        rows = batch_size // self.num_chips
        self.log(f"Compiling a step of {rows} rows per chip, {self.device}; it takes minutes ...")
        lowered = self._lower(model, batch_size)
        num_weights = sum(math.prod(variable.shape) for variable in model.trainable_variables)
        update_flops = _UPDATE_FLOPS * num_weights
        cost = compiler.compile_step(lowered, self.chip, self.accumulation_steps, update_flops)
        row_flops = pretraining_flops(
            model.backbone, self.sequence_length, self.max_predictions, model.next_sentence
        )
        step = PlannedStep(
            self.chip,
            self.num_chips,
            batch_size,
            self.sequence_length,
            batch_size * row_flops,
            cost,
        )
        self.log(f"... {step.verdict}, in GiB per chip ({cost.seconds:.0f} s)")
        return step

    def _lower(self, model, batch_size):
        shape = (self.sequence_length, self.max_predictions, self.sequences_per_row)
        batch = compiler.pretraining_batch(model, batch_size, *shape)
        before = model.accumulation_steps
        model.accumulation_steps = self.accumulation_steps
        try:
            devices = compiler.planned_devices(self.device, self.chip, self.num_chips)
            return compiler.lower_step(model, devices, batch)
        finally:
            model.accumulation_steps = before
