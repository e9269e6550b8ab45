"""BERT's layers: embeddings, attention, the encoder block and heads. They need Keras only."""

from keras_bert.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
