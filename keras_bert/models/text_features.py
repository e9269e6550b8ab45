"""Numbers beside texts."""

import functools

from keras_bert.preprocessing.features import checked_features


class TextFeatures:
    """Mixed into a task, lets it take numbers beside texts, if it has `num_features`.

    The task has a `feature_normalization` then, and `num_features` of 0 else.
    """

    def adapt_features(self, features):
        """Takes from training data how features are brought to mean 0 and variance 1.

        What was taken is saved with the weights. The first `fit` on arrays does it by itself.

        Args:
            features: `[n, K]` finite numbers.

        Raises:
            ValueError: if they are not, with the row.
        """
        self.feature_normalization.adapt(checked_features(features, self.num_features))

    def adapt_to_first(self, x):
        """Calls `adapt_features` with what is learnt from first, if nothing was adapted to yet."""
        if not self.num_features or self.feature_normalization.is_adapted:
            return
        if hasattr(x, "element_spec"):
            raise ValueError(
                "The features of a dataset can't be looked at before it is learnt from: call "
                "model.adapt_features(features) first, with those of the training data."
            )
        self._check_has_features(x)
        self.adapt_features(x["features"])

    def text_batches(self, x, y=None, sample_weight=None, *, batch_size=32, **kwargs):
        """Batches of what this model takes of raw text, features and all.

        Args:
            x: texts, or `{"text": texts, "features": [n, K]}`, as `fit` takes them.
            y: `[n, ...]` labels as numbers (`numbered_labels`), or None.
            sample_weight: `[n]` floats, or None.
            batch_size: int.
            **kwargs: those of `text_dataset`.

        Returns:
            A `tf.data.Dataset` of the inputs' dict, alone or with labels and weights.

        Raises:
            ValueError: if there is no preprocessor, or texts, features, labels and weights don't
                fit each other.
        """
        if not self.num_features:
            x = x["text"] if isinstance(x, dict) else x
            return super().text_batches(x, y, sample_weight, batch_size=batch_size, **kwargs)
        from keras_bert.preprocessing.feature_dataset import feature_dataset

        self._check_has_features(x)
        make_dataset = functools.partial(super().text_batches, batch_size=batch_size, **kwargs)
        return feature_dataset(
            x, y, sample_weight, num_features=self.num_features, make_dataset=make_dataset
        )

    def with_checked_features(self, x):
        """Prepared inputs, or a dataset of them, whose features are finite."""
        if not self.num_features:
            return x
        self._check_has_features(x)
        if hasattr(x, "element_spec"):
            from keras_bert.preprocessing.feature_dataset import checked_feature_dataset

            return checked_feature_dataset(x)
        return {**x, "features": checked_features(x["features"], self.num_features)}

    def _check_has_features(self, x):
        if hasattr(x, "element_spec"):
            spec = x.element_spec
            x = spec[0] if isinstance(spec, tuple) else spec
        if not isinstance(x, dict) or "features" not in x:
            raise ValueError(
                f"This {type(self).__name__} was made with num_features={self.num_features}: give "
                f"{{'text': texts, 'features': [n, {self.num_features}] numbers}}."
            )


def check_num_features(num_features):
    """Raises a ValueError if a model can't take so many numbers."""
    if num_features < 0:
        raise ValueError(f"num_features must be 0 or more; got {num_features}.")
