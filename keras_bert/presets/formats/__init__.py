"""Other libraries' checkpoints: Hugging Face, Google TF1, KerasHub."""
