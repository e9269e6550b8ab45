"""Normalization of the numeric features that accompany a text."""

import keras
import numpy as np


@keras.saving.register_keras_serializable(package="keras_bert")
class FeatureNormalization(keras.layers.Normalization):
    """`keras.layers.Normalization` whose mean and variance follow its weights.

    Keras's layer computes with copies, which become stale when weights are assigned or restored
    from a checkpoint. A constant column is only shifted to 0, not scaled.

    Call arguments:
        inputs: `[B, K]` numbers.

    Returns:
        `[B, K]`, each column with mean 0 and variance 1 over the data given to `adapt`. Before
        `adapt`, the inputs unchanged.

    Example:
    >>> import numpy as np
    >>> layer = FeatureNormalization()
    >>> layer.adapt(np.array([[1.0, 30.0], [3.0, 50.0]]))
    >>> layer(np.array([[3.0, 40.0]], "float32")).numpy().tolist()
    [[1.0, 0.0]]
    """

    def adapt(self, data):
        """Computes the mean and variance of an array `[n, K]` of finite numbers, in float64."""
        data = np.asarray(data, "float64")
        if not self.built:
            self.build(data.shape)
        mean, deviation = data.mean(axis=0), data.std(axis=0)
        is_constant = deviation <= 1e-7 * np.abs(data).max(axis=0)  # the resolution of float32
        self.adapt_mean.assign(mean)
        self.adapt_variance.assign(np.where(is_constant, 1.0, deviation**2))

    @property
    def is_adapted(self):
        """Whether the mean or variance differs from a new layer's."""
        mean, variance = map(keras.ops.convert_to_numpy, (self.adapt_mean, self.adapt_variance))
        return bool(mean.any() or (variance != 1).any())

    def call(self, inputs):
        return (inputs - self.adapt_mean) / keras.ops.sqrt(self.adapt_variance)

    def finalize_state(self):
        pass  # no copies
