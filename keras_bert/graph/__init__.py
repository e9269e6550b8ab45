"""TensorFlow ops of texts, for `tf.data` and SavedModels."""

from keras_bert.messages import from_extra

with from_extra("tensorflow"):
    import tensorflow  # noqa: F401
