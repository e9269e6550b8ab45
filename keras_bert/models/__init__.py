"""The models: the encoder and its tasks."""
