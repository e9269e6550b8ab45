"""Formulas for the FLOPs of pre-training and of the encoder."""

from typing import Any


def pretraining_flops(
    backbone: Any,
    sequence_length: int,
    max_predictions: int,
    next_sentence: bool = True,
) -> int:
    """Counts the FLOPs of the matrix products for one training row.

    A multiplication and an addition are two operations. The backward pass takes twice the forward
    pass. Recomputation by `remat` isn't counted, since it doesn't advance training. `backbone` may
    be any object with the sizes of a `BertBackbone`.

    Example:
    >>> from types import SimpleNamespace
    >>> from keras_bert import sizes
    >>> backbone = SimpleNamespace(vocabulary_size=30522, **sizes.base)
    >>> round(pretraining_flops(backbone, 128, 20) / 128 / 1e9, 5)  # GFLOPs per token
    0.54632
    """
    width = backbone.hidden_dim
    head = max_predictions * (2 * width**2 + 2 * width * backbone.vocabulary_size)
    if next_sentence:
        head += 2 * width**2 + 2 * 2 * width  # the pooler and two classes
    return 3 * (encoder_flops(backbone, sequence_length) + head)


def encoder_flops(backbone: Any, sequence_length: int) -> int:
    """Counts the FLOPs of the blocks' matrix products for a row, forward alone."""
    length, width = sequence_length, backbone.hidden_dim
    projections = 2 * 4 * width**2  # query, key, value and output, per token
    feed_forward = 2 * 2 * width * backbone.intermediate_dim
    attention = 2 * 2 * length * width  # scores, and the weighted sums of values
    return backbone.num_layers * length * (projections + feed_forward + attention)
