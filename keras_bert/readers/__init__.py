"""Readers of files of examples: tables, CoNLL, SQuAD, choices, GLUE."""
