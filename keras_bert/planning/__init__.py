"""TPU runs planned without a TPU."""
