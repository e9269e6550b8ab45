"""Fine-tuning: epochs, scores, the best preset, and runs that resume."""

from keras_bert.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
