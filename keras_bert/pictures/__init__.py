"""Attention and answers, to look at: pages, and figures of matplotlib (the extra `plots`)."""

from keras_bert.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
