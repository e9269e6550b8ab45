"""Loss that distills a teacher's margins into a reranker."""

from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class MarginMeanSquaredError(keras.losses.Loss):
    """Squared error between the margins of a reranker and those of its teacher.

    The margin is the score of the positive minus that of the negative. The student learns how much
    better one document is than the other, on a scale of its own. Use it with examples (query,
    positive, negative). Source: Hofstätter et al. 2020, "Improving Efficient Neural Ranking Models
    with Cross-Architecture Knowledge Distillation", section 3.2.

    Args:
        reduction: as of `keras.losses.Loss`.
        name: str.
        dtype: as of `keras.losses.Loss`.

    Call arguments:
        y_true: `[B]` floats, the teacher's margins.
        y_pred: `[B, 2]`, the logits of the positive and of the negative.

    Raises:
        ValueError: if there aren't two logits and one margin for each example.

    Example:
    >>> import numpy as np
    >>> from keras_bert import MarginMeanSquaredError
    >>> float(MarginMeanSquaredError()(np.array([3.0]), np.array([[2.5, 0.5]])))
    1.0
    """

    def __init__(
        self,
        reduction: str = "sum_over_batch_size",
        name: str = "margin_mean_squared_error",
        dtype: Any = None,
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)

    def __repr__(self):
        return f"{type(self).__name__}()"

    def call(self, y_true, y_pred):
        if len(y_pred.shape) != 2 or y_pred.shape[1] not in (2, None):
            raise ValueError(
                "MarginMeanSquaredError takes logits [B, 2] of examples (query, positive, "
                f"negative); got {tuple(y_pred.shape)}. Pairs (query, document) train with "
                "loss='binary_crossentropy' or 'mean_squared_error'."
            )
        if len(y_true.shape) > 1 and y_true.shape[1] not in (1, None):
            raise ValueError(
                "MarginMeanSquaredError takes one margin for each example, [B], the teacher's "
                f"score of the positive minus that of the negative; got {tuple(y_true.shape)}."
            )
        margins = ops.reshape(y_true, (-1,))  # [B]
        return ops.square(y_pred[:, 0] - y_pred[:, 1] - margins)
