"""Planning of TPU runs, and compilation for GPUs, without either."""
