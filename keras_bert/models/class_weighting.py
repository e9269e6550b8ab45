"""Weights of examples by their class: methods of `BertClassifier`."""

import numpy as np

from keras_bert.preprocessing import class_weights
from keras_bert.preprocessing.raw import is_dataset


def class_sample_weight(model, labels, class_weight, sample_weight=None):
    """Computes the weight of each example by its class, `[n]` float32; see `fit`."""
    names = _class_names(model)
    targets = model.targets(labels)
    return class_weights.class_sample_weight(targets, class_weight, names, sample_weight)


def fit_arguments(model, x, y, class_weight, kwargs):
    """Returns the arguments of Keras's `fit` that weigh examples by their class."""
    if is_dataset(x):
        weights = class_weights.class_weights(class_weight, _class_names(model))
        return {"class_weight": dict(enumerate(map(float, weights)))}
    weight = kwargs.get("sample_weight")
    return {"sample_weight": model.class_sample_weight(y, class_weight, weight)}


def class_counts(model, labels):
    """Counts the texts of each class, as a dict by name; empty for a regression.

    Args:
        model: a `BertClassifier`.
        labels: as for `fit`. With several labels per text, each counts.
    """
    if model.num_classes == 1:
        return {}
    targets = np.asarray(model.targets(labels))
    if targets.shape[1:] in ((), (1,)):
        counts = np.bincount(targets.reshape(-1), minlength=model.num_classes)
    else:
        counts = targets.sum(axis=0)
    names = getattr(model.preprocessor, "label_names", None) or range(model.num_classes)
    return {str(name): int(count) for name, count in zip(names, counts, strict=True)}


def _class_names(model):
    """Returns the names of the classes; raises a ValueError if texts don't have one class each."""
    multi_label = model.preprocessor is not None and model.preprocessor.multi_label
    if multi_label or model.num_classes == 1:
        kind = "multi_label" if multi_label else "regression"
        raise ValueError(
            f"class_weight weighs a text by its one class, which a {kind} model's texts don't "
            "have. Give sample_weight, [n] floats."
        )
    if model.preprocessor is not None:
        return model.preprocessor.label_names
    return [*map(str, range(model.num_classes))]
