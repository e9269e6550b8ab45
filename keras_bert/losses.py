"""Losses that Keras doesn't have: of vectors, margins and logits.

B examples of k texts each, H the width of a vector.
"""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_bert.messages import check_number, check_rate, shown
from keras_bert.saved import Saved, own_arguments, registered, saved_arguments

__all__ = [
    "CoSENT",
    "Distillation",
    "EmbeddingLoss",
    "InBatchNegatives",
    "LogitCrossentropy",
    "MarginMeanSquaredError",
    "WeightedBinaryCrossentropy",
]


BINARY = (keras.losses.BinaryCrossentropy, keras.losses.BinaryFocalCrossentropy)
_OF_CLASSES = (
    keras.losses.SparseCategoricalCrossentropy,
    keras.losses.CategoricalCrossentropy,
    keras.losses.CategoricalFocalCrossentropy,
)


class SavedLoss(Saved, keras.losses.Loss):
    """A loss whose config holds its arguments, and none of those that it gives its base."""

    def get_config(self):
        own = saved_arguments(self, own_arguments(self))
        return {**own, **keras.losses.Loss.get_config(self)}


class BatchLoss(SavedLoss):
    """Base of losses that compare the vectors of all examples in a batch.

    The train loops give such a loss the global batch, whatever the number of replicas and of
    `accumulation_steps`. In accumulation they embed all parts without gradients, take the loss's
    gradients with respect to the vectors, and embed the parts again with gradients (Gao et al.
    2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup").
    """

    over_batch = True

    def __init__(
        self,
        scale: float = 20.0,
        matryoshka_dims: Sequence[int] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, **kwargs)
        check_number("scale", scale, above=0)
        self.scale = float(scale)
        self.matryoshka_dims = None if matryoshka_dims is None else tuple(matryoshka_dims)

    def call(self, y_true, y_pred):
        width = y_pred.shape[-1]
        check_dims(self.matryoshka_dims, width)
        losses = []
        for dim in self.matryoshka_dims or [width]:
            vectors = normalized(y_pred[..., :dim])
            losses.append(self.loss_of(y_true, vectors))
        return sum(losses[1:], losses[0])

    def loss_of(self, y_true: Any, vectors: Any) -> Any:
        """Computes the loss of vectors of length 1, `[B, k, H]`."""
        raise NotImplementedError

    def __repr__(self):
        dims = f", matryoshka_dims={self.matryoshka_dims}" if self.matryoshka_dims else ""
        return f"{type(self).__name__}(scale={self.scale:g}{dims})"


@registered
class InBatchNegatives(BatchLoss):
    """Cross-entropy of finding each anchor's positive among the other texts of the batch.

    An example is an anchor, its positive, and any number of hard negatives. The scores of an anchor
    are its cosines with the positives and negatives of all examples, times `scale`; its own
    positive is the right one. Equal texts aren't negatives of each other: an anchor's candidates
    leave out texts equal to itself or to its positive, and positives of equal anchors.

    Source: `MultipleNegativesRankingLoss` of sentence-transformers; Henderson et al. 2017, section
    4.4; van den Oord et al. 2018.

    Arguments are those of `EmbeddingLoss`.

    Call arguments:
        y_true: `[B, k]`, numbers of the texts: equal numbers mean equal texts.
        y_pred: `[B, k, H]` vectors of anchors, positives and hard negatives, with k at least 2.

    Returns:
        The mean over anchors, a scalar.

    Raises:
        ValueError: if examples have no second text.

    Example:
    >>> import numpy as np
    >>> vectors = np.eye(4, dtype="float32").reshape(2, 2, 4)  # all unlike
    >>> round(float(InBatchNegatives()(np.arange(4).reshape(2, 2), vectors)), 4)  # log(2)
    0.6931
    """

    def loss_of(self, y_true: Any, vectors: Any) -> Any:
        _check_several(self, vectors)
        texts = vectors.shape[1] - 1  # k - 1 candidates of each example
        anchors = vectors[:, 0]  # [B, H]
        candidates = ops.reshape(vectors[:, 1:], (-1, vectors.shape[-1]))  # [B x (k - 1), H]
        scores = self.scale * ops.matmul(anchors, ops.transpose(candidates))
        columns = ops.arange(ops.shape(scores)[1])
        is_right = columns == columns[::texts, None]  # the anchor's positive
        # Numbers of texts: of anchors and positives [B, 1], of candidates [B x (k - 1)].
        anchor = y_true[:, :1]
        positive = y_true[:, 1:2]
        candidate = ops.reshape(y_true[:, 1:], (-1,))
        its_anchor = ops.repeat(y_true[:, 0], texts)
        is_positive = columns % texts == 0
        is_equal = (candidate == anchor) | (candidate == positive)
        is_equal = is_equal | (is_positive & (its_anchor == anchor))
        scores = ops.where(is_equal & ~is_right, -1e9, scores)
        right = ops.sum(ops.where(is_right, scores, 0.0), axis=1)
        return ops.logsumexp(scores, axis=1) - right  # [B]


@registered
class CoSENT(BatchLoss):
    """Ranking of the cosines of pairs by the pairs' scores.

    Of every two pairs in the batch, the one with the higher score should have the higher cosine:
    log(1 + sum of exp(scale x (lower pair's cosine - higher pair's))). Only the order of the scores
    counts, so they may have any range.

    Source: Su 2022, https://kexue.fm/archives/8847; `CoSENTLoss` of sentence-transformers.

    Arguments are those of `EmbeddingLoss`.

    Call arguments:
        y_true: `[B]` scores, such as 0 to 1 or 0 to 5.
        y_pred: `[B, 2, H]`, the vectors of two texts.

    Returns:
        A scalar. It isn't a mean over pairs, so `sample_weight` isn't supported.

    Raises:
        ValueError: if examples are not pairs.

    Example:
    >>> import numpy as np
    >>> vectors = np.array([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])  # cosines 1, 0
    >>> right, wrong = (float(CoSENT()(scores, vectors)) for scores in ([1.0, 0.5], [0.5, 1.0]))
    >>> right < 1e-6, round(wrong, 4)
    (True, 20.0)
    """

    def loss_of(self, y_true: Any, vectors: Any) -> Any:
        _check_several(self, vectors, exactly=2)
        scores = ops.reshape(y_true, (-1,))
        products = vectors[:, 0] * vectors[:, 1]
        cosines = self.scale * ops.sum(products, axis=-1)  # [B]
        excess = cosines[None] - cosines[:, None]  # [higher, lower]
        excess = ops.where(scores[:, None] > scores[None], excess, -1e9)
        excess = ops.append(excess, 0.0)  # flattens it
        return ops.logsumexp(excess)


@registered
class EmbeddingLoss(BatchLoss):
    """The loss that suits the data: `InBatchNegatives`, or `CoSENT` if pairs have scores.

    Args:
        scale: float, the factor of cosines: the inverse of the temperature.
        matryoshka_dims: ints, such as `(384, 256, 128)`. The loss is summed over the vectors
            truncated to each of these lengths. None means whole vectors.
        name: str.
        **kwargs: arguments of `keras.losses.Loss`.

    Call arguments:
        y_true: `[B, k]`, numbers of texts, or `[B]`, scores.
        y_pred: `[B, k, H]` vectors.

    Example:
    >>> import numpy as np
    >>> vectors = np.eye(4, dtype="float32").reshape(2, 2, 4)
    >>> numbers = np.arange(4).reshape(2, 2)
    >>> float(EmbeddingLoss()(numbers, vectors)) == float(InBatchNegatives()(numbers, vectors))
    True
    """

    def loss_of(self, y_true: Any, vectors: Any) -> Any:
        loss_class = CoSENT if len(y_true.shape) == 1 else InBatchNegatives
        return loss_class.loss_of(self, y_true, vectors)


@registered
class MarginMeanSquaredError(SavedLoss):
    """Squared error between the margins of a reranker and those of its teacher.

    The margin is the score of the positive minus that of the negative, of examples (query,
    positive, negative). Source: Hofstätter et al. 2020, "Improving Efficient Neural Ranking Models
    with Cross-Architecture Knowledge Distillation", section 3.2.

    Arguments are those of `keras.losses.Loss`.

    Call arguments:
        y_true: `[B]` floats, the teacher's margins.
        y_pred: `[B, 2]`, the logits of the positive and of the negative.

    Raises:
        ValueError: if there aren't two logits and one margin for each example.

    Example:
    >>> import numpy as np
    >>> from keras_bert.losses import MarginMeanSquaredError
    >>> float(MarginMeanSquaredError()(np.array([3.0]), np.array([[2.5, 0.5]])))
    1.0
    """

    def __repr__(self):
        return f"{type(self).__name__}()"

    def call(self, y_true, y_pred):
        is_pair = len(y_pred.shape) == 2 and y_pred.shape[1] in (2, None)
        is_margin = len(y_true.shape) == 1 or y_true.shape[1] in (1, None)
        if not (is_pair and is_margin):
            raise ValueError(
                "MarginMeanSquaredError takes the teacher's margins [B] and logits [B, 2] of "
                f"(query, positive, negative); got {tuple(y_true.shape)} and "
                f"{tuple(y_pred.shape)}. For pairs (query, document), leave loss out of compile."
            )
        margins = ops.reshape(y_true, (-1,))  # [B]
        return ops.square(y_pred[:, 0] - y_pred[:, 1] - margins)


@registered
class LogitCrossentropy(SavedLoss, keras.losses.SparseCategoricalCrossentropy):
    """`SparseCategoricalCrossentropy` of logits, in fewer passes over them on JAX.

    Keras takes the label's value of the log-softmax, which is known only after a pass that sums the
    exponentials. Here that pass also takes the label's logit.

    Args:
        label_smoothing: float, the share of the label that is spread over all classes, as in
            `CategoricalCrossentropy`, which takes one-hot labels.
        reduction, name, dtype: as of `keras.losses.Loss`.

    Call arguments:
        y_true: `[...]` ints, the labels.
        y_pred: `[..., V]`, logits.

    Raises:
        ValueError: if `label_smoothing` is not from 0 to 1.

    Example:
    ```python
    model.compile(loss=keras_bert.losses.LogitCrossentropy(label_smoothing=0.1))
    model.fit(texts, names_of_classes)
    ```
    """

    from_logits = True  # Keras 3.16 has no attribute

    def __init__(
        self,
        label_smoothing: float = 0.0,
        reduction: str = "mean_with_sample_weight",
        name: str = "logit_crossentropy",
        dtype: Any = None,
    ):
        super().__init__(from_logits=True, reduction=reduction, name=name, dtype=dtype)
        check_rate("label_smoothing", label_smoothing)
        self.label_smoothing = float(label_smoothing)

    def call(self, y_true, y_pred):
        label = self._of_labels(y_true, y_pred)
        if not self.label_smoothing:
            return label
        log_probabilities = ops.log_softmax(y_pred, axis=-1)
        even = -ops.mean(log_probabilities, axis=-1)
        return label + self.label_smoothing * (even - label)

    def _of_labels(self, y_true, y_pred):
        if keras.backend.backend() != "jax":  # the others have an operation of their own
            return super().call(y_true, y_pred)
        y_true = ops.reshape(ops.cast(y_true, "int32"), y_pred.shape[:-1])
        is_label = ops.arange(y_pred.shape[-1]) == y_true[..., None]
        largest = ops.max(y_pred, axis=-1, keepdims=True)
        logits = y_pred - ops.stop_gradient(largest)
        label = ops.sum(ops.where(is_label, logits, 0.0), axis=-1)
        total = ops.sum(ops.exp(logits), axis=-1)
        return ops.log(total) - label


@registered
class WeightedBinaryCrossentropy(SavedLoss, keras.losses.BinaryCrossentropy):
    """`BinaryCrossentropy` of logits in which each class's positive labels have a weight.

    For the loss of a `BertClassifier` whose preprocessor has `multi_label`. A weight above 1 finds
    more of a rare class.

    Args:
        pos_weight: list of C floats, such as the number of texts without each class divided by that
            of texts with it.
        reduction, name, dtype: as of `keras.losses.Loss`.

    Call arguments:
        y_true: `[..., C]` of 0 and 1.
        y_pred: `[..., C]`, logits.

    Raises:
        ValueError: if a weight is below 0 or not finite, or there are not as many as classes.

    Example:
    ```python
    counts = np.array([*model.class_counts(labels).values()])
    pos_weight = (len(texts) - counts) / counts
    model.compile(loss=keras_bert.losses.WeightedBinaryCrossentropy(pos_weight))
    ```
    """

    def __init__(
        self,
        pos_weight: Sequence[float],
        reduction: str = "mean_with_sample_weight",
        name: str = "weighted_binary_crossentropy",
        dtype: Any = None,
    ):
        super().__init__(from_logits=True, reduction=reduction, name=name, dtype=dtype)
        if not hasattr(pos_weight, "__len__") or len(pos_weight) == 0:
            raise ValueError(f"pos_weight must be a list of C numbers; got {shown(pos_weight)}.")
        self.pos_weight = [float(weight) for weight in pos_weight]
        for weight in self.pos_weight:
            check_number("Each pos_weight", weight, at_least=0)

    def call(self, y_true, y_pred):
        number = len(self.pos_weight)
        known = {y_true.shape[-1], y_pred.shape[-1]} - {None}  # a graph may not know the labels'
        if len(y_true.shape) != len(y_pred.shape) or known != {number}:
            raise ValueError(
                f"A pos_weight of {number} classes takes labels and logits of as many, 0 or 1 for "
                f"each; got shapes {y_true.shape} and {y_pred.shape}."
            )
        weight = ops.convert_to_tensor(self.pos_weight, y_pred.dtype)
        positive = y_true * weight * ops.softplus(-y_pred)
        negative = (1 - y_true) * ops.softplus(y_pred)
        return ops.mean(positive + negative, axis=-1)


@registered
class Distillation(SavedLoss):
    """A task's loss, and the distance to the outputs of a teacher: `finetune(..., teacher=...)`.

    With t and s the logits of teacher and student, and T the temperature, the loss is

        alpha x distance + (1 - alpha) x the task's loss

    where the distance is T^2 x KL(softmax(t / T) || softmax(s / T)) for a cross-entropy of classes,
    choices or positions, the same of each class's probability, sigmoid(t / T), for a binary one,
    and the squared error for any other loss.

    Source: Hinton et al. 2015, "Distilling the Knowledge in a Neural Network", section 2.

    Args:
        loss: the task's loss: a `keras.losses.Loss`, or the name or function of one.
        temperature: float, T, by which the logits of both models are divided.
        alpha: float from 0 to 1, the share of the teacher in the loss.
        reduction: as of `keras.losses.Loss`; None means that of `loss`.
        name: str.
        dtype: as of `keras.losses.Loss`.

    Call arguments:
        y_true: `[..., C + L]` floats: the teacher's C outputs, and then the labels, one number or
            as many as the loss takes.
        y_pred: `[..., C]`, the student's outputs.

    Raises:
        ValueError: if `temperature` or `alpha` is out of range.

    Example:
    >>> import keras, keras_bert
    >>> import numpy as np
    >>> hard = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    >>> loss = keras_bert.losses.Distillation(hard, temperature=2.0, alpha=1.0)
    >>> logits = np.array([[2.0, -1.0, 0.5]])
    >>> float(loss(np.array([[2.0, -1.0, 0.5, 0]]), logits))  # as the teacher says
    0.0
    """

    def __init__(
        self,
        loss: Any,
        temperature: float = 2.0,
        alpha: float = 0.5,
        reduction: str | None = None,
        name: str = "distillation",
        dtype: Any = None,
    ):
        check_number("temperature", temperature, above=0)
        check_rate("alpha", alpha)
        self.loss = keras.losses.get(loss)
        if reduction is None:
            reduction = getattr(self.loss, "reduction", "sum_over_batch_size")
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.temperature = float(temperature)
        self.alpha = float(alpha)
        self._distance = None  # the squared error
        if isinstance(self.loss, _OF_CLASSES):
            self._distance = _divergence
        elif isinstance(self.loss, BINARY):
            self._distance = _binary_divergence

    def call(self, y_true, y_pred):
        outputs = ops.shape(y_pred)[-1]
        teacher = y_true[..., :outputs]
        labels = y_true[..., outputs:]
        if isinstance(self.loss, keras.losses.SparseCategoricalCrossentropy):
            labels = labels[..., 0]
        hard = getattr(self.loss, "call", self.loss)(labels, y_pred)
        if self._distance is None:
            soft = ops.mean(ops.square(teacher - y_pred), axis=-1)
        else:
            T = self.temperature
            soft = T**2 * self._distance(teacher / T, y_pred / T)
        return self.alpha * soft + (1 - self.alpha) * hard


def _divergence(teacher: Any, student: Any) -> Any:
    """Computes KL(softmax(teacher) || softmax(student)) over the last axis."""
    teacher = ops.log_softmax(teacher, axis=-1)
    student = ops.log_softmax(student, axis=-1)
    return ops.sum(ops.exp(teacher) * (teacher - student), axis=-1)


def _binary_divergence(teacher, student):
    """Computes the mean over the last axis of each class's divergence, a class or not."""
    teacher = ops.stack([teacher, ops.zeros_like(teacher)], axis=-1)
    student = ops.stack([student, ops.zeros_like(student)], axis=-1)
    return ops.mean(_divergence(teacher, student), axis=-1)


def normalized(vectors: Any) -> Any:
    """Scales vectors to length 1, in float32."""
    vectors = ops.cast(vectors, "float32")
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return vectors / ops.sqrt(squares + 1e-24)


def check_dims(dims: Sequence[int] | None, width: int) -> None:
    """Raises a ValueError unless `matryoshka_dims` are numbers of a vector's values, or None."""
    if dims is None:
        return
    is_right = isinstance(dims, (list, tuple)) and len(dims) > 0
    if not is_right or not all(type(dim) is int and 1 <= dim <= width for dim in dims):
        raise ValueError(
            f"matryoshka_dims must be ints from 1 to {width}, the width of the vectors, such as "
            f"({width}, {max(width // 2, 1)}); got {dims}."
        )


def _check_several(loss, vectors, exactly=None):
    texts = vectors.shape[1] if len(vectors.shape) == 3 else 1
    if texts < 2 or (exactly is not None and texts != exactly):
        expected = "[B, 2, H]" if exactly else "[B, k, H] with k of 2 or more"
        raise ValueError(
            f"{type(loss).__name__} compares the vectors of several texts in an example, "
            f"{expected}; got {tuple(vectors.shape)}. Train on pairs: fit((texts, others))."
        )
