"""BERT that sorts sentences, or pairs of them."""

import keras
import numpy as np

from keras_bert.layers.initializer import dense
from keras_bert.models.bert_task import BertTask
from keras_bert.training.adamw import AdamW


@keras.saving.register_keras_serializable(package="keras_bert")
class BertClassifier(BertTask):
    """Classes or a score of a sentence, or of a pair of them.

    Source: Devlin et al. 2019, section 4.1; `create_model` of google-research/bert
    run_classifier.py.

    Args:
        backbone: a `BertBackbone`.
        num_classes: int, C; 1 is regression: one number, learnt by its squared error.
        preprocessor: a `BertPreprocessor`, for raw text; or None.
        dropout: float, of the pooled output.
        label_names: C strings, the classes' names; "0", "1", ... by default.
        **kwargs: those of `keras.Model`.

    Call arguments:
        inputs: a dict of the backbone's inputs.

    Returns:
        Logits `[B, C]`, float32.

    Raises:
        ValueError: if `num_classes` is below 1 or is not the number of `label_names`.

    Example:
    >>> import numpy as np
    >>> from keras_bert import BertBackbone, BertClassifier, sizes
    >>> model = BertClassifier(BertBackbone(vocabulary_size=100, **sizes.tiny), num_classes=3)
    >>> tuple(model({"token_ids": np.array([[2, 17, 42, 3]])}).shape)
    (1, 3)
    """

    def __init__(
        self,
        backbone,
        num_classes,
        preprocessor=None,
        dropout=0.1,
        label_names=None,
        **kwargs,
    ):
        if num_classes < 1:
            raise ValueError(f"num_classes must be 1 (regression) or more; got {num_classes}.")
        if label_names is not None and len(label_names) != num_classes:
            raise ValueError(
                f"There are {num_classes} classes but {len(label_names)} label_names: "
                f"{list(label_names)}. Give each class one name."
            )
        output_dropout = keras.layers.Dropout(dropout, name="output_dropout")
        head = dense(num_classes, "logits")
        pooled = backbone(backbone.input)["pooled_output"]  # [B, H]
        logits = keras.ops.cast(head(output_dropout(pooled)), "float32")  # [B, C]
        super().__init__(dict(backbone.input), logits, backbone, preprocessor, **kwargs)
        self.head = head
        self.num_classes = num_classes
        self.dropout = dropout
        self.label_names = list(label_names or map(str, range(num_classes)))

    def default_compile_args(self):
        """AdamW at 2e-5; cross-entropy and accuracy, or the squared error of a regression."""
        if self.num_classes == 1:
            return {"optimizer": AdamW(2e-5), "loss": "mean_squared_error"}
        return {
            "optimizer": AdamW(2e-5),
            "loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "metrics": [keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        }

    def answers(self, outputs):
        """`probabilities` `[B, C]` and the best `label`, `[B]`; of a regression `score`, `[B]`."""
        if self.num_classes == 1:
            return {"score": outputs[:, 0]}
        return {
            "probabilities": keras.ops.softmax(outputs, axis=-1),
            "label": keras.ops.argmax(outputs, axis=-1),
        }

    def check_labels(self, labels):
        """Raises a ValueError if `labels`, an array of integers, leaves the classes."""
        labels = np.asarray(labels)
        one_each = labels.ndim == 1 or labels.shape[1:] == (1,)
        if self.num_classes == 1 or not one_each or not labels.size:
            return
        if not np.issubdtype(labels.dtype, np.number):
            raise ValueError(
                f"Labels must be class numbers, 0 to {self.num_classes - 1}; got "
                f"{labels.flat[0]!r}. Use label_names.index(name) to number named classes."
            )
        if labels.min() < 0 or labels.max() >= self.num_classes:
            raise ValueError(
                f"Labels must be in 0 to {self.num_classes - 1} for num_classes="
                f"{self.num_classes}; got values from {labels.min()} to {labels.max()}. Number the "
                "classes from 0, or make the model with as many as there are."
            )

    def checked_dataset(self, dataset):
        """The same, for a `tf.data.Dataset`: an error where a label leaves the classes."""
        if self.num_classes == 1:
            return dataset
        from keras_bert.data.checked_labels import checked_labels

        return checked_labels(dataset, self.num_classes)

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "dropout": self.dropout,
            "label_names": self.label_names,
        }
