"""Models for other programs: SavedModels of raw strings, other formats of token ids. TensorFlow."""
