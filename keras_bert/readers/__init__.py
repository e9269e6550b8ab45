"""Files of examples that people have: tables, CoNLL, SQuAD, choices, GLUE."""
