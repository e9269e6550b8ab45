"""Numbers beside a text, brought to one scale."""

import keras
import numpy as np


@keras.saving.register_keras_serializable(package="keras_bert")
class FeatureNormalization(keras.layers.Normalization):
    """`keras.layers.Normalization` that reads mean and variance where they are kept.

    Keras's own holds copies of them, which stay behind when weights are restored from a
    checkpoint or assigned. Of a column that is the same in every row, the mean alone is taken off.

    Call arguments:
        inputs: `[B, K]` numbers.

    Returns:
        `[B, K]`, each column with mean 0 and variance 1 over what it was adapted to; before that,
        the inputs.

    Example:
    >>> import numpy as np
    >>> layer = FeatureNormalization()
    >>> layer.adapt(np.array([[1.0, 30.0], [3.0, 50.0]]))
    >>> layer(np.array([[3.0, 40.0]], "float32")).numpy().tolist()
    [[1.0, 0.0]]
    """

    def adapt(self, data):
        """Takes mean and variance from an array `[n, K]` of finite numbers, in float64."""
        data = np.asarray(data, "float64")
        if not self.built:
            self.build(data.shape)
        mean, deviation = data.mean(axis=0), data.std(axis=0)
        is_constant = deviation <= 1e-7 * np.abs(data).max(axis=0)  # float32 tells no more
        self.adapt_mean.assign(mean)
        self.adapt_variance.assign(np.where(is_constant, 1.0, deviation**2))

    @property
    def is_adapted(self):
        """Whether mean and variance are no longer those of a new layer."""
        mean, variance = map(keras.ops.convert_to_numpy, (self.adapt_mean, self.adapt_variance))
        return bool(mean.any() or (variance != 1).any())

    def call(self, inputs):
        return (inputs - self.adapt_mean) / keras.ops.sqrt(self.adapt_variance)

    def finalize_state(self):
        pass  # no copies
