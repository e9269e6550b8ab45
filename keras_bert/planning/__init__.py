"""Planning of TPU runs, and compilation for GPUs, without either."""

from keras_bert.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
