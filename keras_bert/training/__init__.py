"""Optimizer, schedule, devices and checkpoints."""
