"""SavedModels that take raw strings. Needs TensorFlow."""
