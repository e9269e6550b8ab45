"""The parts of BERT: embeddings, attention, the encoder block, heads. Keras alone."""
