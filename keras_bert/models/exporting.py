"""Export of models for other programs: a method of `BertTask`."""

import keras


def export(task, filepath, format="tf_saved_model", **kwargs):
    """Writes a SavedModel that answers raw strings, for TensorFlow Serving.

    Args:
        task: a `BertTask`.
        filepath: the model's folder; by default version 1 is written, to `filepath/1`.
        format: `"tf_saved_model"`; `keras.Model.export` handles other formats.
        **kwargs: arguments of `keras_bert.serving.export_saved_model`, or `keras.Model.export`.

    Raises:
        ValueError: if there is no preprocessor, or the backend is not TensorFlow.
    """
    if format != "tf_saved_model":
        return keras.Model.export(task, filepath, format=format, **kwargs)
    from keras_bert.serving.export_saved_model import export_saved_model

    return export_saved_model(task, filepath, **kwargs)
