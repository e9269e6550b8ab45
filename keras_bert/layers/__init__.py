"""BERT's layers: embeddings, attention, the encoder block and heads, for encoders of your own.

They need Keras only, on any backend. What is faster on one of them is in `keras_bert.kernels`.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
