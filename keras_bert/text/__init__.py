"""The tokenizer, as TensorFlow ops, and the learning of its vocabularies."""
