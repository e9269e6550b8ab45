"""Checkpoints of other libraries: Hugging Face, Google TF1, KerasHub."""
