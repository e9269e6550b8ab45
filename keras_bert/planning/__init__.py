"""Planning of TPU runs without a TPU."""
