"""SavedModels written without messages."""

from collections.abc import Callable

import tensorflow as tf


def save_quietly(module: tf.Module, folder: str, signatures: dict[str, Callable]) -> None:
    """Writes a SavedModel without TensorFlow's message, which names a folder that is renamed."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("WARNING")
    try:
        tf.saved_model.save(module, folder, signatures=signatures)
    finally:
        logger.setLevel(level)
