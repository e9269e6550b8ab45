"""Memory and time of a training step, compiled for TPUs or GPUs."""

import dataclasses
import operator
from typing import Any

from keras_bert.planning.compiler import CompiledCost
from keras_bert.planning.devices import GIB, Chip


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
    def verdict(self) -> str:
        """Whether the step fits, with the GiB to spare or too much, in words."""
        if self.fits:
            return f"fits, {(self.chip.available_bytes - self.cost.needed) / GIB:.2f} to spare"
        excess = self.cost.excess
        if self.cost.needed is not None:
            excess = self.cost.needed - self.chip.available_bytes
        return "doesn't fit" + ("" if excess is None else f", {excess / GIB:.2f} too much")

    def work(self) -> list[tuple[str, float, str, float]]:
        """Lists what a chip does in a step: name, amount, unit and seconds at the peak rate."""
        rates = {"FLOPs": self.chip.flops_per_second, "bytes": self.chip.bytes_per_second}
        work = []
        for name, amount, unit in (
            ("matrix products of the model", self.model_flops / self.num_chips, "FLOPs"),
            ("all operations", self.cost.flops, "FLOPs"),
            ("HBM reads and writes", self.cost.hbm_bytes, "bytes"),
        ):
            if amount is not None:
                work.append((name, amount, unit, amount / rates[unit]))
        return work

    @property
    def least_seconds(self) -> float:
        """Lower bound of a step's seconds; computation and HBM traffic may overlap."""
        return max(seconds for *_, seconds in self.work())

    @property
    def bound(self) -> str:
        """Bottleneck that sets the lower bound, "compute" or "memory"."""
        longest = max(self.work(), key=operator.itemgetter(3))
        return "memory" if "bytes" in longest else "compute"

    def seconds(self, utilization: float) -> float:
        """Estimates seconds at a `utilization` of the peak rate, at least the lower bound."""
        return max(self.least_seconds, self._product_seconds() / utilization)

    def _product_seconds(self):
        """Returns the seconds of the model's matrix products at the peak rate."""
        return self.model_flops / self.num_chips / self.chip.flops_per_second

    def table(self, steps: int = 1_000_000, utilization: float = 0.4) -> str:
        """Formats memory, work and time of so many steps as a table of several lines.

        `utilization` in (0, 1] is the expected share of the chips' peak rate in `model_flops`.
        """
        lines = ["memory per chip, GiB", *self._memory_lines(), ""]
        lines.append("per step, on each chip")
        work = [
            f"  {name:32}{amount:9.2e} {unit}  {1000 * seconds:8.1f} ms at the peak rate"
            for name, amount, unit, seconds in self.work()
        ]
        if not self.fits:
            return "\n".join([*lines, work[0]])
        best = self._product_seconds() / self.least_seconds
        lines += work
        lines.append(f"  bound by {self.bound}: at best {best:.0%} utilization")
        lines.append("")
        lines.append(f"{f'{steps:,} steps':34}ms a step    tokens/s      days")
        lines.append(self._time_line("at best", steps, self.least_seconds))
        name = f"at {min(utilization, best):.0%} utilization"
        lines.append(self._time_line(name, steps, self.seconds(utilization)))
        return "\n".join(lines)

    def _memory_lines(self):
        cost = self.cost
        total = f"total, of {self.chip.available_bytes / GIB:.2f}"
        if not self.fits:
            return [
                f"  {total:41}   {self.verdict}",
                "  try a smaller batch, more chips, accumulation_steps or remat",
            ]
        return [
            f"  {'weights, optimizer and batch':32}{cost.arguments / GIB:9.2f}",
            f"  {'temporaries':32}{cost.temporaries / GIB:9.2f}",
            f"  {'code':32}{cost.code / GIB:9.2f}",
            f"  {total:32}{cost.needed / GIB:9.2f}   {self.verdict}",
        ]

    def _time_line(self, name, steps, seconds):
        tokens = self.batch_size * self.sequence_length / seconds
        days = steps * seconds / 86400
        return f"  {name:32}{1000 * seconds:9.1f}{tokens:12,.0f}{days:10.2f}"


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
