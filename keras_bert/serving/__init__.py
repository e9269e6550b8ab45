"""Models as SavedModels that take raw strings. TensorFlow."""
