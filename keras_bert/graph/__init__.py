"""TensorFlow ops of texts, for `tf.data` and SavedModels."""

from importlib.util import find_spec

from keras_bert.messages import missing

if find_spec("tensorflow") is None:
    raise missing("tensorflow", "tensorflow")
