"""Memory and time of a training step, or of a prediction, compiled for TPUs or GPUs."""

import dataclasses
from typing import Any, ClassVar

from keras_bert.planning.compiler import CompiledCost
from keras_bert.planning.devices import GIB, Chip

SECONDS_PER_DAY = 86400


@dataclasses.dataclass(frozen=True)
class PlannedStep:
    """A compiled step: whether it fits in memory, and the shortest time it can take.

    `batch_size` rows are split over all chips. `model_flops` are those of the model's matrix
    products in a step on all chips, without recomputation; `cost` is that of one chip.

    Example:
    >>> from keras_bert.planning.devices import find_chips
    >>> cost = CompiledCost(2**30, 2**31, 2**20, 5e12, 4e10, None, 100.0)
    >>> step = PlannedStep(*find_chips("v5e:2x2"), 256, 128, 1.8e13, cost)
    >>> step.fits, round(1000 * step.least_seconds, 1), step.bound
    (True, 48.8, 'memory')
    """

    state: ClassVar[str] = "weights, optimizer and batch"
    advice: ClassVar[str] = "try a smaller batch, more chips, accumulation_steps or remat"
    unit: ClassVar[str] = "step"

    chip: Chip
    num_chips: int
    batch_size: int
    sequence_length: int
    model_flops: float
    cost: CompiledCost

    @property
    def fits(self) -> bool:
        """Whether the step fits in a chip's memory."""
        needed = self.cost.needed
        return needed is not None and needed <= self.chip.available_bytes

    @property
    def spare_bytes(self) -> float | None:
        """Free bytes on a chip; negative if the step is too large, None if unknown."""
        if self.cost.needed is not None:
            return self.chip.available_bytes - self.cost.needed
        return None if self.cost.excess is None else -self.cost.excess

    @property
    def model_seconds(self) -> float:
        """Seconds of the model's matrix products alone, at the chips' peak rate."""
        return self.model_flops / self.num_chips / self.chip.flops_per_second

    @property
    def compute_seconds(self) -> float:
        """Seconds of all operations, or of the known ones, at the chips' peak rate."""
        flops = self.cost.flops
        return self.model_seconds if flops is None else flops / self.chip.flops_per_second

    @property
    def memory_seconds(self) -> float:
        """Seconds of the HBM traffic at its peak rate."""
        return self.cost.hbm_bytes / self.chip.bytes_per_second

    @property
    def least_seconds(self) -> float:
        """Lower bound of a step's seconds; computation and HBM traffic may overlap."""
        return max(self.compute_seconds, self.memory_seconds)

    @property
    def bound(self) -> str:
        """Bottleneck that sets the lower bound, "compute" or "memory"."""
        return "memory" if self.memory_seconds > self.compute_seconds else "compute"

    def seconds(self, utilization: float) -> float:
        """Estimates seconds at a `utilization` of the peak rate, at least the lower bound."""
        return max(self.least_seconds, self.model_seconds / utilization)

    def table(self, steps: int = 1_000_000, utilization: float = 0.4) -> str:
        """Formats memory, work and time of so many steps as a table of several lines.

        `utilization` in (0, 1] is the expected share of the chips' peak rate in `model_flops`.
        """
        unit = f"per {self.unit}, on each chip"
        lines = ["memory per chip, GiB", *self._memory_lines(), "", unit]
        flops = self.model_flops / self.num_chips
        lines.append(_work("matrix products of the model", flops, "FLOPs", self.model_seconds))
        if not self.fits:
            return "\n".join(lines)
        cost, best = self.cost, self.model_seconds / self.least_seconds
        if cost.flops is not None:
            lines.append(_work("all operations", cost.flops, "FLOPs", self.compute_seconds))
        lines += [
            _work("HBM reads and writes", cost.hbm_bytes, "bytes", self.memory_seconds),
            f"  bound by {self.bound}: at best {best:.0%} utilization",
            "",
            self._time_title(steps),
            self._time_line("at best", steps, self.least_seconds),
            self._time_line(
                f"at {min(utilization, best):.0%} utilization", steps, self.seconds(utilization)
            ),
        ]
        return "\n".join(lines)

    def _memory_lines(self):
        available, cost = self.chip.available_bytes / GIB, self.cost
        if not self.fits:
            spare = self.spare_bytes
            missing = "" if spare is None else f": {-spare / GIB:.2f} GiB too much"
            return [
                f"  doesn't fit in the {available:.2f} available to a program{missing}",
                f"  {self.advice}",
            ]
        total, spare = f"total, of {available:.2f}", self.spare_bytes / GIB
        return [
            f"  {self.state:32}{cost.arguments / GIB:9.2f}",
            f"  {'temporaries':32}{cost.temporaries / GIB:9.2f}",
            f"  {'code':32}{cost.code / GIB:9.2f}",
            f"  {total:32}{cost.needed / GIB:9.2f}   fits, {spare:.2f} to spare",
        ]

    def _time_title(self, steps):
        return f"{f'{steps:,} steps':34}ms a step    tokens/s      days"

    def _time_line(self, name, steps, seconds):
        tokens = self.batch_size * self.sequence_length / seconds
        days = steps * seconds / SECONDS_PER_DAY
        return f"  {name:32}{1000 * seconds:9.1f}{tokens:12,.0f}{days:10.2f}"


class PlannedPrediction(PlannedStep):
    """A compiled forward pass: whether it fits in memory, and how many rows a second at most."""

    state = "weights and batch"
    advice = "try a smaller batch or more chips"
    unit = "batch"

    def _time_title(self, steps):
        return f"{'prediction':33}ms a batch    tokens/s    rows/s"

    def _time_line(self, name, steps, seconds):
        rows = self.batch_size / seconds
        tokens = rows * self.sequence_length
        return f"  {name:32}{1000 * seconds:9.1f}{tokens:12,.0f}{rows:10,.0f}"


def _work(name, amount, unit, seconds):
    return f"  {name:32}{amount:9.2e} {unit}  {1000 * seconds:8.1f} ms at the peak rate"


def pretraining_flops(
    backbone: Any, sequence_length: int, max_predictions: int, next_sentence: bool = True
) -> int:
    """Counts the FLOPs of the matrix products for one training row of a `Backbone`.

    The backward pass takes twice the forward pass. Recomputation by `remat` isn't counted.

    Example:
    >>> from keras_bert import BertBackbone, sizes
    >>> backbone = BertBackbone(vocabulary_size=30522, **sizes.tiny)
    >>> round(pretraining_flops(backbone, 128, 20) / 128 / 1e6, 3)  # MFLOPs per token
    6.431
    """
    width = backbone.hidden_dim
    head = max_predictions * (2 * width**2 + 2 * width * backbone.vocabulary_size)
    if next_sentence:
        head += 2 * width**2 + 2 * 2 * width  # the pooler and two classes
    return 3 * (backbone.forward_flops(sequence_length) + head)
