"""The vocabulary as an asset of a task's `.keras` file: methods of `BertTask`."""

import keras

from keras_bert.text.vocabulary import SavedVocabulary
from keras_bert.training.keras_internals import writes_assets


def preprocessor_config(preprocessor):
    """Serializes a preprocessor, without its tokens where Keras saves them as an asset.

    Keras prints the whole config if it can't find a class, and reads it before anything else.
    """
    config = keras.saving.serialize_keras_object(preprocessor)
    if preprocessor is not None and writes_assets():
        tokens = preprocessor.tokenizer.get_vocabulary()
        config["config"]["tokenizer"]["vocabulary"] = SavedVocabulary.of(tokens).to_dict()
    return config


def save_assets(self, dir_path):
    """Writes the vocabulary to the assets of a `.keras` file; Keras calls this."""
    if self.preprocessor is not None:
        self.preprocessor.tokenizer.save_assets(dir_path)


def load_assets(self, dir_path):
    """Reads the vocabulary from the assets of a `.keras` file; Keras calls this.

    A file of an earlier version has the vocabulary in its config, and no assets.
    """
    if self.preprocessor is not None and dir_path is not None:
        self.preprocessor.tokenizer.load_assets(dir_path)
