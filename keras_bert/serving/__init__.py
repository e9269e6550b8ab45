"""SavedModels of raw strings, and other formats of token ids. Needs TensorFlow."""
