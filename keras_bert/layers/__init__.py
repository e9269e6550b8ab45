"""BERT's layers: embeddings, attention, the encoder block and heads. They need Keras only."""
