"""TensorFlow ops of texts, for `tf.data` and SavedModels."""
