"""The tokenizer, built of TensorFlow ops, and a learner of vocabularies."""
