"""The FLOPs of pre-training."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras_bert


def pretraining_flops(
    backbone: "keras_bert.Backbone",
    sequence_length: int,
    max_predictions: int,
    next_sentence: bool = True,
) -> int:
    """Counts the FLOPs of the matrix products for one training row.

    A multiplication and an addition are two operations. The backward pass takes twice the forward
    pass. Recomputation by `remat` isn't counted, since it doesn't advance training.

    Args:
        backbone: a `Backbone`.
        sequence_length: int, S.
        max_predictions: int, P.
        next_sentence: bool.

    Returns:
        An int.

    Example:
    >>> from keras_bert import BertBackbone, sizes
    >>> backbone = BertBackbone(vocabulary_size=30522, **sizes.tiny)
    >>> round(pretraining_flops(backbone, 128, 20) / 128 / 1e6, 3)  # MFLOPs per token
    6.435
    """
    width = backbone.hidden_dim
    head = max_predictions * (2 * width**2 + 2 * width * backbone.vocabulary_size)
    if next_sentence:
        head += 2 * width**2 + 2 * 2 * width  # the pooler and two classes
    return 3 * (backbone.forward_flops(sequence_length) + head)
