"""Text as TensorFlow ops, for `tf.data` and for SavedModels that take raw strings."""
