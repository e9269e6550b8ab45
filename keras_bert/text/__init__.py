"""Text: the tokenizer in the TensorFlow graph, and learning its vocabularies."""
