"""Models as files that other programs run: a method of `BertTask`."""

import keras


def export(task, filepath, format="tf_saved_model", **kwargs):
    """Writes a SavedModel that answers raw strings, for TensorFlow Serving.

    Args:
        task: a `BertTask`.
        filepath: the model's folder; version 1 of it is written to `filepath/1`.
        format: `"tf_saved_model"`; others are left to `keras.Model.export`.
        **kwargs: those of `keras_bert.serving.export_saved_model`, or of `keras.Model.export`.

    Raises:
        ValueError: if there is no preprocessor, or the backend is not TensorFlow.
    """
    if format != "tf_saved_model":
        return keras.Model.export(task, filepath, format=format, **kwargs)
    from keras_bert.serving.export_saved_model import export_saved_model

    return export_saved_model(task, filepath, **kwargs)
