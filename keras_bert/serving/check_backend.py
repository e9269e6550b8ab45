"""The backend that all exported formats need."""

import keras


def check_backend(model: keras.Model, exported: str) -> None:
    """Checks that Keras runs on TensorFlow, whose graph all formats are made from.

    Args:
        model: the model to export.
        exported: the format's name with its article, for the message.

    Raises:
        ValueError: if Keras runs on another backend.
    """
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"Exporting {exported} requires TensorFlow; Keras runs on {keras.backend.backend()} "
            "here. Save the model with save_to_preset(folder). Then run "
            f"{type(model).__name__}.from_preset(folder).export(...) in a process with "
            "KERAS_BACKEND=tensorflow."
        )
