"""BERT's layers: embeddings, attention, the encoder block and heads. They need Keras only."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
