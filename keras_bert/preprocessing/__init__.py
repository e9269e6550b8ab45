"""Preprocessors, one per task: raw examples to batches, and outputs to answers."""
