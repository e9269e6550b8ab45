"""One answer to a long text out of those to its windows. n texts, B of a request, N windows."""

import keras
import numpy as np

WINDOW_POOLINGS = ("mean", "max")


class PooledWindows:
    """Mixed into a task, pools the logits of a text's windows, if it has a `window_stride`.

    The task has a `window_pooling` too, and `numbered_labels`.
    """

    def predict(self, x, batch_size=None, **kwargs):
        """The outputs, as `keras.Model.predict`; takes what `fit` takes as `x`.

        Of a model with a `window_stride`, a text's logits are those of its windows, pooled.
        """
        if not self.reads_windows_of(x):
            return super().predict(x, batch_size=batch_size, **kwargs)
        from keras_bert.preprocessing.text_dataset import num_texts

        if hasattr(x, "element_spec"):
            x, *_ = in_memory(x)
        numbers = np.arange(num_texts(x))
        batches = self.text_batches(x, numbers, batch_size=batch_size or 32)
        text = np.concatenate([labels for _, labels in batches.as_numpy_iterator()])  # [N], rising
        logits = super().predict(batches.map(lambda inputs, _: inputs), **kwargs)  # [N, C]
        starts = np.searchsorted(text, numbers)
        if self.window_pooling == "max":
            return np.maximum.reduceat(logits, starts, axis=0)  # [n, C]
        sums = np.add.reduceat(logits, starts, axis=0)
        return (sums / np.bincount(text)[:, None]).astype(logits.dtype)

    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        *,
        sample_weight=None,
        return_dict=False,
        verbose="auto",
        **kwargs,
    ):
        """Loss and metrics, as `keras.Model.evaluate`; takes what `fit` takes.

        Of a model with a `window_stride` they are those of whole texts, of their pooled logits.
        """
        common = {"return_dict": return_dict, "verbose": verbose, **kwargs}
        if not self.reads_windows_of(x):
            return super().evaluate(x, y, batch_size, sample_weight=sample_weight, **common)
        if not self.compiled:
            self.compile(**self.default_compile_args())
        if hasattr(x, "element_spec"):
            x, y, sample_weight = in_memory(x)
        if y is None:
            raise ValueError("evaluate needs labels: give y, or a dataset of (text, label).")
        logits = keras.ops.convert_to_tensor(self.predict(x, batch_size, verbose=verbose))
        y = keras.ops.convert_to_tensor(self.numbered_labels(y))
        if sample_weight is not None:
            sample_weight = keras.ops.convert_to_tensor(sample_weight, "float32")
        self.reset_metrics()
        scores = self.compute_metrics(None, y, logits, sample_weight)
        loss = self.compute_loss(None, y, logits, sample_weight, training=False)
        scores = {name: float(value) for name, value in {**scores, "loss": loss}.items()}
        if return_dict:
            return scores
        loss = scores.pop("loss")
        return [loss, *scores.values()] if scores else loss

    def string_signature(self):
        """Of a model that reads windows, how it answers texts of any length; see `BertTask`."""
        if self.window_stride is None:
            return None

        def answer_texts(text, **features):
            return self.answers(self.window_logits(text, **features))

        return answer_texts, {"text": 1}

    def text_batches(self, x, y=None, sample_weight=None, *, batch_size=32, **kwargs):
        """Batches of what this model takes of raw text, windows if it reads them."""
        if self.window_stride is None:
            return super().text_batches(x, y, sample_weight, batch_size=batch_size, **kwargs)
        from keras_bert.preprocessing.window_dataset import window_dataset

        kwargs |= {"preprocessor": self.preprocessor, "window_stride": self.window_stride}
        return window_dataset(x, y, sample_weight, batch_size=batch_size, **kwargs)

    def reads_windows_of(self, x):
        """Whether `x` is text of which windows are read."""
        from keras_bert.models.bert_task import holds_text

        return self.window_stride is not None and holds_text(x)

    def window_logits(self, texts, **others):
        """Pooled logits `[B, C]` of raw strings `[B]`, in the TensorFlow graph.

        Args:
            texts: string `[B]`.
            **others: what the model takes beside a text, `[B, ...]`, by name.
        """
        import tensorflow as tf

        from keras_bert.preprocessing.overlapping_windows import overlapping_windows
        from keras_bert.preprocessing.padding import trim_padding

        windows, counts = overlapping_windows(
            self.preprocessor.tokenizer(texts),
            self.preprocessor.sequence_length - 2,
            self.window_stride,
        )
        inputs = trim_padding(self.preprocessor.pack(windows))
        text = tf.repeat(tf.range(tf.size(counts)), counts)  # [N]
        others = {name: tf.gather(values, text) for name, values in others.items()}
        logits = self({**inputs, **others}, training=False)  # [N, C]
        pool = tf.math.segment_max if self.window_pooling == "max" else tf.math.segment_mean
        return pool(logits, text)


def check_windows(window_stride, window_pooling, preprocessor):
    """Raises a ValueError if texts can't be read in such windows."""
    if window_pooling not in WINDOW_POOLINGS:
        raise ValueError(
            f"window_pooling must be one of {', '.join(map(repr, WINDOW_POOLINGS))}; got "
            f"{window_pooling!r}."
        )
    if window_stride is not None and preprocessor is not None:
        from keras_bert.preprocessing.window_dataset import check_window_stride

        check_window_stride(window_stride, preprocessor.sequence_length)


def in_memory(dataset):
    """`(x, y, sample_weight)` of a dataset of texts, batched or not; None for what it lacks."""
    elements = list(dataset.as_numpy_iterator())
    if not elements:
        raise ValueError("There are no texts: the dataset is empty.")
    elements = [e if isinstance(e, tuple) else (e,) for e in elements]
    text = elements[0][0]
    text = text["text"] if isinstance(text, dict) else text
    text = text[0] if isinstance(text, tuple) else text
    join = np.stack if isinstance(text, bytes) else np.concatenate
    joined = keras.tree.map_structure(lambda *leaves: join(leaves), *elements)
    return (*joined, None, None)[:3]
