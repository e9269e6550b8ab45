"""What users give to a verb of a task, looked at once: a class for each form."""
