"""The official metrics of the tasks."""
