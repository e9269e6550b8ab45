"""TensorFlow Text, or an error that says how to install it."""

import tensorflow as tf

try:
    import tensorflow_text as tf_text
    from tensorflow_text.core.pybinds import (
        pywrap_fast_wordpiece_tokenizer_model_builder as wordpiece_builder,
    )
except (ImportError, tf.errors.NotFoundError) as error:  # NotFoundError: an undefined symbol
    version = ".".join(tf.__version__.split(".")[:2])
    raise ImportError(
        f"Texts in TensorFlow's graphs need TensorFlow Text {version}, that of TensorFlow "
        f"{tf.__version__}, and its import failed ({error}): pip install --upgrade "
        f'"tensorflow-text=={version}.*". It has no wheels for Windows: use WSL there. Texts in '
        "memory work without it."
    ) from error

__all__ = ["cut_with_offsets", "num_bytes", "tf_text", "wordpiece_builder"]


def cut_with_offsets(texts: tf.Tensor, regex: str) -> tuple[tf.RaggedTensor, ...]:
    """Cuts strings `[N]` at matches, which are parts, too; with byte starts and ends, `[N, (P)]`.

    TensorFlow Text would end a text at its first NUL, so another invisible character replaces it.
    """
    texts = tf.strings.regex_replace(texts, r"\x00", "\x01")
    return tf_text.regex_split_with_offsets(texts, regex, regex)


def num_bytes(texts: tf.Tensor) -> tf.Tensor:
    """Returns the lengths of strings, int64."""
    return tf.cast(tf.strings.length(texts), tf.int64)
