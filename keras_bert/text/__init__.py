"""The tokenizer and a learner of vocabularies."""
