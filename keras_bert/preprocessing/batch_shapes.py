"""The shapes of batches that suit what trains."""

import keras

from keras_bert.preprocessing.row_batches import quarters
from keras_bert.training.strategy import device_kind


def batch_shapes(sequence_length):
    """The arguments `trim` and `drop_remainder` of a dataset, as they suit the devices that train.

    XLA compiles a model anew for each shape of its batches. Where it compiles, batches have one of
    four lengths, and on a TPU, where that takes minutes, one alone, and no last batch is smaller;
    elsewhere each is cut to its longest row. Call it behind `get_strategy`.

    Args:
        sequence_length: int, the length that rows are padded to.

    Returns:
        A dict of `trim`, bool or a list of ints, and `drop_remainder`, bool.

    Example:
    ```python
    data = text_dataset(
        texts, labels, preprocessor=preprocessor, batch_size=32, **batch_shapes(128)
    )
    ```
    """
    kind = device_kind()
    if kind == "TPU":
        return {"trim": False, "drop_remainder": True}
    is_compiled = keras.backend.backend() == "jax" or kind == "GPU"
    return {
        "trim": quarters(sequence_length) if is_compiled else True,
        "drop_remainder": False,
    }
