"""What scripts that train share: flags, short errors, devices and processes."""

from keras_bert.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
