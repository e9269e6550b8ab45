"""The parts of BERT: embeddings, attention, the encoder block, heads. They need Keras only."""
