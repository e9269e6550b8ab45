"""The models: the encoder and the tasks on it."""
