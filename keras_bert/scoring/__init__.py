"""What the official metrics say of a task's answers, and the files that official scripts read."""
