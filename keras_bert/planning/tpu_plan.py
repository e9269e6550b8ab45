"""Training planned for TPUs, without one."""

import math

from keras_bert.planning.planned_step import PlannedStep
from keras_bert.planning.pretraining_flops import pretraining_flops
from keras_bert.planning.tpu_chips import GIB, chips_of
from keras_bert.planning.tpu_compiler import (
    check_compiler,
    compile_step,
    lower_step,
    tpu_devices,
)
from keras_bert.training.global_loss import check_accumulation

_UPDATE_FLOPS = 29  # of AdamW for a weight, as the compiler counts them
_PART_TO_FILL = 0.98  # of a chip's memory, by a batch that is tried as the largest


class TpuPlan:
    """What pre-training needs of TPUs, and can take at best, found without having one.

    The step that `fit` takes on JAX (forward and backward pass, the all-reduce of gradients,
    clipping, the optimizer) is compiled by the TPUs' own compiler, libtpu, for chips that aren't
    there: `pip install "keras3-bert[tpu-plan]"`, on Linux. The precision is that of the model, so
    set `keras.config.set_dtype_policy("mixed_bfloat16")` before it is made. What chips say to one
    another is compiled, but not counted in the times.

    Args:
        topology: str, the kind of chip and the shape of the slice: "v5e:2x2" has 4 chips, "v5e:4x4"
            16; "v4:2x2x1", "v5p:2x2x1" and "v6e:2x2" have 4.
        sequence_length: int, tokens S of a row.
        max_predictions: int, prediction slots P of a row; by default as in `pretraining_dataset`:
            20 at 128 and 80 at 512.
        accumulation_steps: int, into how many parts each chip divides its part of a batch.
        tell: a function that is told, in words, what is being done.

    Raises:
        ValueError: if the topology is unknown, a number is out of range, Keras's backend isn't JAX,
            or libtpu isn't installed.

    Example:
    ```python
    plan = keras_bert.TpuPlan("v5e:2x2", sequence_length=128)
    step = plan.compile(model, batch_size=256)  # a BertPretrainer; takes minutes
    print(step.table(steps=1_000_000, utilization=0.4))
    largest = plan.largest_batch(model, step)  # takes several times as long
    ```
    """

    def __init__(
        self,
        topology,
        sequence_length=128,
        max_predictions=None,
        accumulation_steps=1,
        tell=print,
    ):
        self.chip, self.num_chips = chips_of(topology)
        check_accumulation(accumulation_steps)
        if max_predictions is None:
            max_predictions = 4 * math.ceil(0.15 * sequence_length / 4)
        if not 1 <= max_predictions <= sequence_length:
            raise ValueError(
                f"max_predictions must be 1 to {sequence_length}, the tokens of a row; got "
                f"{max_predictions}."
            )
        check_compiler()
        self.topology = topology
        self.sequence_length = sequence_length
        self.max_predictions = max_predictions
        self.accumulation_steps = accumulation_steps
        self.tell = tell

    def check_batch(self, batch_size):
        """Raises a ValueError if the chips and their parts don't divide a batch."""
        check_divides(batch_size, self.num_chips, self.accumulation_steps)

    def compile(self, model, batch_size):
        """Compiles the step for batches of a size. That takes minutes.

        Args:
            model: a `BertPretrainer`.
            batch_size: int, rows B of a batch over all chips.

        Returns:
            A `PlannedStep`.

        Raises:
            ValueError: if the chips and their parts don't divide the batch, or the rows are longer
                than the model's `max_sequence_length`.
        """
        self.check_batch(batch_size)
        rows = batch_size // self.num_chips
        self.tell(f"Compiling a step for {self.topology}, {rows} rows a chip; it takes minutes ...")
        devices = tpu_devices(self.topology, self.chip.options)
        turns = self.accumulation_steps
        before, model.accumulation_steps = model.accumulation_steps, turns
        try:
            lowered = lower_step(
                model, devices, batch_size, self.sequence_length, self.max_predictions
            )
        finally:
            model.accumulation_steps = before
        figures = compile_step(lowered, turns, _UPDATE_FLOPS * _num_weights(model))
        row_flops = pretraining_flops(
            model.backbone, self.sequence_length, self.max_predictions, model.next_sentence
        )
        step = PlannedStep(
            chip=self.chip,
            num_chips=self.num_chips,
            batch_size=batch_size,
            sequence_length=self.sequence_length,
            model_flops=batch_size * row_flops,
            figures=figures,
        )
        self.tell(f"... {_verdict(step)} ({figures.seconds:.0f} s)")
        return step

    def largest_batch(self, model, step, compilations=3):
        """Looks for the largest batch that fits, by compiling larger or smaller ones.

        Memory grows nearly in a straight line with the rows of a chip. The step is compiled where
        that line comes to 98 % of the chip's memory, which gives a better line; and so on, until
        a batch that fits is within a sixteenth of that place.

        Args:
            model: a `BertPretrainer`.
            step: what `compile` gave for it, and any size.
            compilations: int, how many to try at most.

        Returns:
            The `PlannedStep` of the largest batch that was compiled and fits, or None.
        """
        parts, tried = self.accumulation_steps, [step]
        state = 4 * sum(math.prod(variable.shape) for variable in _state(model))
        for _ in range(compilations):
            rows = next_rows([self._point(step) for step in tried], state, self.chip, parts)
            if rows is None:
                break
            tried.append(self.compile(model, rows * self.num_chips))
        fitting = [step for step in tried if step.fits]
        return max(fitting, key=lambda step: step.batch_size, default=None)

    def _point(self, step):
        needed = None if step.spare_bytes is None else self.chip.available_bytes - step.spare_bytes
        return step.batch_size // self.num_chips, needed, step.fits


def next_rows(tried, state_bytes, chip, parts=1):
    """The rows of a chip to try next, on the way to the most that fit; None where that is enough.

    Args:
        tried: a list of `(rows, bytes, fits)`: what was needed, and whether there was as much;
            bytes is None where it isn't known.
        state_bytes: int, what no rows at all would need.
        chip: a `Chip`.
        parts: int that divides the rows.

    Example:
    >>> from keras_bert.planning.tpu_chips import CHIPS
    >>> gib = 2**30  # 1 of state, 0.05 a row: (15.75 - 1) / 0.05 = 295 rows at most
    >>> next_rows([(64, 4.2 * gib, True)], gib, CHIPS["v5e"])
    288
    >>> next_rows([(64, 4.2 * gib, True), (288, 15.4 * gib, True)], gib, CHIPS["v5e"]) is None
    True
    """
    fits = max((rows for rows, _, fits in tried if fits), default=0)
    fails = min((rows for rows, _, fits in tried if not fits), default=math.inf)
    known = [(0, state_bytes)] + [(rows, needed) for rows, needed, _ in tried if needed is not None]
    aim = _PART_TO_FILL * chip.available_bytes
    known.sort(key=lambda point: abs(point[1] - aim))
    rows = fails // 2
    if len(known) > 1:
        (first, needed), (second, other) = known[:2]
        slope = (other - needed) / (second - first)
        if slope <= 0:  # other programs, and no line between them
            return None
        rows = int(first + (aim - needed) / slope)
    if rows >= fails:
        rows = (fits + fails) // 2
    rows -= rows % parts
    return rows if rows - fits >= max(parts, fits // 16) else None


def check_divides(batch_size, num_chips, accumulation_steps):
    """Raises a ValueError if chips and parts don't divide a batch."""
    parts = num_chips * accumulation_steps
    if batch_size < 1 or batch_size % parts:
        raise ValueError(
            f"A batch of {batch_size} rows can't be divided among {num_chips} chips with "
            f"accumulation_steps={accumulation_steps}: choose a multiple of {parts}, for instance "
            f"{max(1, -(-batch_size // parts)) * parts}."
        )


def _verdict(step):
    spare = step.spare_bytes
    if step.fits:
        return f"fits, {spare / GIB:.2f} GiB of a chip to spare"
    return "doesn't fit" + ("" if spare is None else f", {-spare / GIB:.2f} GiB too much")


def _state(model):
    return [*model.variables, *model.optimizer.variables]


def _num_weights(model):
    return sum(math.prod(variable.shape) for variable in model.trainable_variables)
