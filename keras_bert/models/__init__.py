"""Models: the encoder and its tasks."""
