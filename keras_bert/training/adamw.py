"""BERT's optimizer."""

import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert.messages import check_number
from keras_bert.saved import registered
from keras_bert.training.keras_internals import SummedOptimizer


def _dense(gradient, dtype):
    """Makes a gradient dense; TensorFlow gives an embedding's gradient as slices, one per token."""
    if hasattr(gradient, "dense_shape"):  # tf.IndexedSlices
        import tensorflow as tf

        gradient = tf.convert_to_tensor(gradient)
    return None if gradient is None else ops.cast(gradient, dtype)


def _bias(beta, step):
    """Computes `1 - beta ** step` without cancellation.

    For beta = 0.999 and step 1 the result is 0.001. In float32 `1 - beta` is 0.00099998713, because
    beta itself is rounded before the subtraction. `-expm1(step * log(beta))`, with the logarithm
    taken in float64, is 0.00099999993.
    """
    return -ops.expm1(step * math.log(max(beta, 1e-30)))


@registered
class AdamW(SummedOptimizer):
    """Adam with decoupled weight decay and BERT's settings.

    The update of a weight w with moments m and v at rate r is

        w <- w - r * (m / (sqrt(v) + epsilon) + weight_decay * w)

    where biases and LayerNorm weights don't decay. Google's BERT has no bias correction
    (google-research/bert optimization.py); `bias_correction=False` reproduces that. With it,
    fine-tuning on small datasets is more stable (Mosbach et al. 2021).

    A token that occurs twice in a batch follows the same formula: its gradients are summed first,
    where `keras.optimizers.AdamW` on TensorFlow squares each. Every row of a table is updated and
    decayed at every step, as in Google's BERT.

    Updates are computed in float32, or in float64 for float64 weights. Weights in bfloat16 or
    float16 have moments in float32, and are rounded once a step: a change below half of the
    distance between two such numbers is lost. On PyTorch, `apply` clips its gradients in place.

    Args:
        learning_rate: float, or a `keras.optimizers.schedules.LearningRateSchedule`.
        weight_decay: float, multiplied by the learning rate.
        beta_1: float, decay of the first moment.
        beta_2: float, decay of the second moment.
        epsilon: float, added outside the square root.
        bias_correction: bool; False is Google's update.
        no_decay: names of weights that don't decay.
        layer_decay: float, the factor between the learning rates of an encoder layer and the layer
            above it: heads train at the full rate, the last of L blocks at `layer_decay` times it,
            the embeddings at `layer_decay ** (L + 1)` times it. None means one rate. Source: Clark
            et al. 2020 (ELECTRA), who fine-tune Base with 0.8 and Large with 0.9.
        global_clipnorm: float, the maximum norm of all gradients together, summed over replicas; or
            None.
        **kwargs: arguments of `keras.optimizers.Optimizer`.

    Raises:
        ValueError: if a number is not finite or out of range.

    Example:
    >>> optimizer = AdamW(learning_rate=5e-5)
    >>> AdamW.from_config(optimizer.get_config()).no_decay
    ['bias', 'gamma', 'beta']
    """

    def __init__(
        self,
        learning_rate: float | keras.optimizers.schedules.LearningRateSchedule = 1e-4,
        weight_decay: float = 0.01,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-6,
        bias_correction: bool = True,
        no_decay: Iterable[str] = ("bias", "gamma", "beta"),
        layer_decay: float | None = None,
        global_clipnorm: float | None = 1.0,
        name: str = "adamw",
        **kwargs: Any,
    ):
        if isinstance(learning_rate, numbers.Real):  # not a schedule
            check_number("learning_rate", learning_rate, at_least=0)
        if weight_decay is not None:
            check_number("weight_decay", weight_decay, at_least=0)
        check_number("epsilon", epsilon, at_least=0)
        check_number("beta_1", beta_1, at_least=0, below=1)
        check_number("beta_2", beta_2, at_least=0, below=1)
        if global_clipnorm is not None:
            check_number("global_clipnorm", global_clipnorm, above=0)
        if layer_decay is not None:
            check_number("layer_decay", layer_decay, above=0)
            if layer_decay > 1:
                raise ValueError(f"layer_decay must be at most 1; got {layer_decay}.")
        super().__init__(
            learning_rate, weight_decay, global_clipnorm=global_clipnorm, name=name, **kwargs
        )
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.bias_correction = bias_correction
        self.no_decay = list(no_decay)
        self.layer_decay = layer_decay

    def add_variable(self, *args: Any, dtype: str | None = None, **kwargs: Any) -> keras.Variable:
        if dtype in ("bfloat16", "float16"):  # of a weight
            dtype = "float32"
        return super().add_variable(*args, dtype=dtype, **kwargs)

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._first_moments, self._second_moments = self.add_optimizer_variables(
            variables, ["first_moment", "second_moment"]
        )
        layer_decay = self.layer_decay or 1.0
        self._decays = []
        self._rate_scales = []
        for variable in variables:
            decays = variable.name not in self.no_decay and self.may_decay(variable)
            self._decays.append(decays)
            self._rate_scales.append(layer_decay ** getattr(variable, "layers_to_head", 0))

    def apply(
        self, grads: Iterable[Any], trainable_variables: Sequence[keras.Variable] | None = None
    ) -> keras.Variable:
        grads = list(grads)
        dtypes = {keras.backend.standardize_dtype(g.dtype) for g in grads if g is not None}
        dtype = keras.backend.result_type("float32", *dtypes)
        dense = [_dense(gradient, dtype) for gradient in grads]
        return super().apply(dense, trainable_variables)

    def step_rates(self, learning_rate: Any) -> Any:
        """Computes what all variables share: on TensorFlow, the settings of its Adam kernel."""
        if keras.backend.backend() != "tensorflow":
            return learning_rate
        rates = {}
        for dtype in sorted({moment.dtype for moment in self._first_moments}):
            rate = ops.cast(learning_rate, dtype)
            rates[dtype] = (rate, self._kernel_settings(rate))
        return rates

    def update_step(self, gradient, variable, learning_rate):
        index = self.index_of(variable)
        dtype = self._first_moments[index].dtype
        gradient = ops.cast(gradient, dtype)
        if isinstance(learning_rate, dict):
            learning_rate, settings = learning_rate[dtype]
            if variable.dtype == dtype:
                self._update_at_once(gradient, variable, index, learning_rate, settings)
                return
        weight = ops.cast(variable, dtype)
        update = self._direction(gradient, weight, index)
        learning_rate = ops.cast(learning_rate, dtype) * self._rate_scales[index]
        self.assign(variable, weight - learning_rate * update)

    def update_together(
        self, gradients: list, variables: list[keras.Variable], learning_rate: Any
    ) -> bool:
        """Updates all variables by PyTorch's kernel, if it can; returns whether it did."""
        if keras.backend.backend() != "torch":
            return False
        from keras_bert.training.torch_updates import fused_adamw_, has_fused_adamw

        if not has_fused_adamw([variable.value for variable in variables]):
            return False
        groups = {}  # weights, gradients and moments, by the rate and decay that they share
        for gradient, variable in zip(gradients, variables, strict=True):
            index = self.index_of(variable)
            m = self._first_moments[index]
            v = self._second_moments[index]
            settings = (self._rate_scales[index], self._decay(index))
            group = groups.setdefault(settings, [])
            group.append((variable.value, gradient, m.value, v.value))
        step = ops.convert_to_tensor(self.iterations) if self.bias_correction else None
        for (rate_scale, decay), group in groups.items():
            fused_adamw_(
                *zip(*group, strict=True),
                step,
                lr=learning_rate * rate_scale,
                weight_decay=decay,
                beta1=self.beta_1,
                beta2=self.beta_2,
                eps=self.epsilon,
            )
        return True

    def _direction(self, gradient, weight, index):
        """Updates the moments and returns the update for a learning rate of 1."""
        m = self._first_moments[index]
        v = self._second_moments[index]
        self.assign_add(m, (gradient - m) * (1 - self.beta_1))
        self.assign_add(v, (ops.square(gradient) - v) * (1 - self.beta_2))
        if self.bias_correction:
            step = ops.cast(self.iterations + 1, weight.dtype)
            first = _bias(self.beta_1, step)
            second = _bias(self.beta_2, step)
            update = (m / first) / (ops.sqrt(v / second) + self.epsilon)
        else:
            update = m / (ops.sqrt(v) + self.epsilon)
        return update + self._decay(index) * weight

    def _decay(self, index):
        return (self.weight_decay or 0.0) * self._decays[index]

    def _kernel_settings(self, rate):
        """Computes arguments of TensorFlow's Adam kernel with which it corrects biases as we do.

        The kernel computes `w -= lr * m / (sqrt(v) + epsilon)` on moments without bias correction,
        which divides m by `first` = 1 - beta_1^step and v by `second` = 1 - beta_2^step. It moves
        into the kernel's two scalars:

            (m / first) / (sqrt(v / second) + epsilon)
                = sqrt(second) / first * m / (sqrt(v) + sqrt(second) * epsilon)

        At step 1 with the gradient 0.5, m = 0.1 * 0.5 = 0.05 and v = 0.001 * 0.25 = 0.00025. The
        left side is (0.05 / 0.1) / (sqrt(0.00025 / 0.001) + 1e-6) = 0.5 / 0.500001. On the right
        sqrt(second) = 0.0316228, so the kernel gets lr * 0.316228 and the epsilon 3.16e-8:
        0.316228 * 0.05 / (0.0158114 + 3.16e-8) = 0.999998, the same.
        """
        dtype = keras.backend.standardize_dtype(rate.dtype)
        beta_1, beta_2 = np.array([self.beta_1, self.beta_2], dtype).tolist()  # as in the kernel
        if self.bias_correction:
            step = ops.cast(self.iterations + 1, dtype)
            first = _bias(beta_1, step)
            second = _bias(beta_2, step)
        else:
            # No correction. For float32 weights the kernel has 1 - beta of the rounded beta, so its
            # moments are off by a constant: 1 - float32(0.999) = 0.00099998713, not 0.001.
            first = (1 - beta_1) / max(1 - self.beta_1, 1e-30)
            second = (1 - beta_2) / max(1 - self.beta_2, 1e-30)
        root = ops.sqrt(ops.cast(second, dtype))
        settings = {
            "beta1_power": 0.0,  # no correction by the kernel
            "beta2_power": 0.0,
            "lr": rate * root / first,
            "beta1": beta_1,
            "beta2": beta_2,
            "epsilon": self.epsilon * root,
        }
        return {name: ops.convert_to_tensor(value, dtype) for name, value in settings.items()}

    def _update_at_once(self, gradient, variable, index, learning_rate, settings):
        """Updates a weight with TensorFlow's Adam kernel, in one pass over memory."""
        import tensorflow as tf

        rate_scale = self._rate_scales[index]
        if rate_scale != 1.0:  # an operation less for most weights
            learning_rate = learning_rate * rate_scale
            settings = {**settings, "lr": settings["lr"] * rate_scale}
        if self._decay(index):
            decay = learning_rate * self._decay(index)
            variable.assign_sub(variable * decay)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._first_moments[index].handle,
            v=self._second_moments[index].handle,
            grad=gradient,
            **settings,
        )

    def __repr__(self):
        rate = self.get_config()["learning_rate"]
        if not isinstance(rate, dict):
            rate = f"{rate:g}"
        elif isinstance(rate["config"], dict):  # a schedule
            settings = [f"{name}={value}" for name, value in rate["config"].items()]
            rate = f"{rate['class_name']}({', '.join(settings)})"
        else:
            rate = rate["config"]  # the name of a function
        return f"{type(self).__name__}({rate}, weight_decay={self.weight_decay})"
