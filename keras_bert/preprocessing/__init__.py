"""One preprocessor per task: raw examples to batches, outputs to answers."""
