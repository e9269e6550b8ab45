"""What every task on BERT shares."""

import keras
import numpy as np

from keras_bert.models.optional_inputs import OptionalInputs
from keras_bert.presets.preset import Presets
from keras_bert.presets.quantization import quantization_config, quantized_from_config
from keras_bert.training.global_loss import check_accumulation
from keras_bert.training.train_loop import TrainLoop


class BertTask(Presets, OptionalInputs, TrainLoop, keras.Model):
    """A backbone, a head, and the preprocessor that turns text into what they take.

    Every task of this library is one. `fit`, `evaluate` and `predict` take what `keras.Model`'s
    do, and raw text besides: a list of strings, a pair of such lists, or a `tf.data.Dataset` of
    either. A task that was not compiled trains with its own `default_compile_args()`.

    Args:
        inputs: a dict of Keras inputs.
        outputs: a Keras tensor, or a dict of them.
        backbone: a `BertBackbone`.
        preprocessor: a `BertPreprocessor`, or None, where no raw text is to be read.
        **kwargs: those of `keras.Model`.

    Raises:
        ValueError: if the preprocessor's vocabulary or sequence length is larger than the
            backbone's.

    Example:
    >>> import tempfile
    >>> from keras_bert import BertBackbone, BertClassifier, BertTask, sizes
    >>> folder = tempfile.mkdtemp()
    >>> model = BertClassifier(BertBackbone(vocabulary_size=100, **sizes.tiny), num_classes=3)
    >>> model.save_to_preset(folder)
    >>> type(BertTask.from_preset(folder)).__name__  # whatever the folder holds
    'BertClassifier'
    """

    reads_pooler = True  # False of a task whose head reads the vectors of tokens alone

    def __init__(self, inputs, outputs, backbone, preprocessor=None, **kwargs):
        if preprocessor is not None:
            _check_fits(preprocessor, backbone)
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)
        self.backbone = backbone
        self.preprocessor = preprocessor

    @property
    def trainable_variables(self):
        """What is learnt: the pooler isn't, where the head doesn't read it."""
        return self._without_unread(super().trainable_variables)

    @property
    def trainable_weights(self):
        """The same, which Keras asks for too."""
        return self._without_unread(super().trainable_weights)

    def default_compile_args(self):
        """The arguments of `compile` that suit this task: optimizer, loss and metrics."""
        raise NotImplementedError

    def check_labels(self, labels):
        """Raises a ValueError if this task can't learn an array of labels."""

    def checked_dataset(self, dataset):
        """A dataset to learn from, which ends in an error at labels that can't be learnt."""
        return dataset

    def text_batches(self, x, y=None, sample_weight=None, *, batch_size=32, **kwargs):
        """Batches of what this task takes of raw text, as `fit` makes them.

        Args:
            x: texts, as `fit` takes them.
            y: `[n, ...]` labels, or None.
            sample_weight: `[n]` floats, or None.
            batch_size: int.
            **kwargs: those of `text_dataset`.

        Returns:
            A `tf.data.Dataset` of the inputs' dict, alone or with labels and weights.
        """
        from keras_bert.preprocessing.text_dataset import text_dataset

        kwargs |= {"preprocessor": self.preprocessor, "batch_size": batch_size}
        return text_dataset(x, y, sample_weight, **kwargs)

    def answers(self, outputs):
        """What an exported model says of each text: this task's outputs, made readable.

        A task that can be served overrides this, with `keras.ops` alone. Every answer has a row
        for each text. Class numbers go under `label`; the exported model gives the names that
        `label_names` has for them.

        Args:
            outputs: what a call gives.

        Returns:
            A dict of tensors `[B, ...]`.

        Raises:
            ValueError: if this task has nothing to say of a text.
        """
        raise ValueError(
            f"A {type(self).__name__} has no answers to give of a text, so there is nothing to "
            "serve. Keep it with save_to_preset(folder), fine-tune a task from there, for example "
            "BertClassifier.from_preset(folder, num_classes=2), and export that."
        )

    def string_signature(self):
        """How an exported model is asked with raw strings, where not with texts or pairs of them.

        A task whose questions are others overrides this.

        Returns:
            `(answer, ranks)`: a function of string tensors that gives a dict of tensors, in the
            TensorFlow graph, and the rank of each of its arguments, by name. None for what
            `preprocessor` and `answers` do with texts.
        """
        return None

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        *,
        sample_weight=None,
        validation_data=None,
        validation_split=0.0,
        shuffle=True,
        accumulation_steps=1,
        **kwargs,
    ):
        """Trains, as `keras.Model.fit`, to the same numbers on one device and on many.

        Args:
            x: raw text (a list of strings, a pair of lists, or a `tf.data.Dataset` of
                `(text, label)`, batched or not), or prepared inputs.
            y: labels, unless `x` is a dataset.
            batch_size: int; 32 by default.
            sample_weight: `[n]` floats, or None.
            validation_data: `(x, y)`, `(x, y, sample_weight)`, or a dataset.
            validation_split: float, for prepared inputs only.
            shuffle: bool, whether a list of texts is shuffled in each epoch. Batches of texts are
                cut as `batch_shapes` has it.
            accumulation_steps: int, into how many parts each replica divides its part of a batch,
                one after the other: the same step in less memory.
            **kwargs: those of `keras.Model.fit`.

        Returns:
            The `History`, as `keras.Model.fit`.

        Raises:
            ValueError: if labels are outside the classes, text is given to a task without a
                preprocessor, or `steps_per_execution` doesn't divide the steps asked for. Labels
                in a `tf.data.Dataset` are seen on their way to the model only; they raise a
                `tf.errors.InvalidArgumentError`.
        """
        if not self.compiled:
            self.compile(**self.default_compile_args())
        self._divide(accumulation_steps)
        for name in ("steps_per_epoch", "validation_steps"):
            self._check_whole_executions(name, kwargs.get(name))
        is_raw = holds_text(x) or not (isinstance(x, dict) or hasattr(x, "shape"))
        if validation_split and is_raw:
            raise ValueError(
                "validation_split divides prepared inputs only. Divide the texts yourself and "
                "pass validation_data=(texts, labels)."
            )
        if validation_data is not None:
            parts = validation_data if isinstance(validation_data, tuple) else (validation_data,)
            validation_data = self._prepared(*parts, batch_size=batch_size)
            if _is_dataset(validation_data[0]):
                validation_data = validation_data[0]
        x, y, sample_weight = self._prepared(x, y, sample_weight, batch_size, shuffle)
        if _is_dataset(x):
            shuffle = False  # that is the dataset's own business
        else:
            kwargs.update(batch_size=batch_size, validation_split=validation_split)
        return super().fit(
            x,
            y,
            sample_weight=sample_weight,
            validation_data=validation_data,
            shuffle=shuffle,
            **kwargs,
        )

    def evaluate(self, x=None, y=None, batch_size=None, *, sample_weight=None, **kwargs):
        """Loss and metrics, as `keras.Model.evaluate`; takes what `fit` takes."""
        if not self.compiled:
            self.compile(**self.default_compile_args())
        self._check_whole_executions("steps", kwargs.get("steps"))
        x, y, sample_weight = self._prepared(x, y, sample_weight, batch_size)
        batch_size = None if _is_dataset(x) else batch_size
        return super().evaluate(x, y, batch_size=batch_size, sample_weight=sample_weight, **kwargs)

    def predict(self, x, batch_size=None, **kwargs):
        """The outputs, as `keras.Model.predict`; takes what `fit` takes as `x`.

        Texts in memory are read in batches of like lengths, so that little of them is padding.
        """
        self._check_whole_executions("steps", kwargs.get("steps"))
        if kwargs.get("steps") is None and self._takes_any_order(x):
            return self._predict_by_length(x, batch_size or 32, **kwargs)
        x, _, _ = self._prepared(x, batch_size=batch_size, learns=False)
        return super().predict(x, batch_size=None if _is_dataset(x) else batch_size, **kwargs)

    def export(self, filepath, format="tf_saved_model", **kwargs):
        """Writes a SavedModel that answers raw strings, for TensorFlow Serving.

        Args:
            filepath: the model's folder; version 1 of it is written to `filepath/1`.
            format: `"tf_saved_model"`; others are left to `keras.Model.export`.
            **kwargs: those of `keras_bert.serving.export_saved_model`, or of
                `keras.Model.export`.

        Raises:
            ValueError: if there is no preprocessor, or the backend is not TensorFlow.
        """
        if format != "tf_saved_model":
            return super().export(filepath, format=format, **kwargs)
        from keras_bert.serving.export_saved_model import export_saved_model

        return export_saved_model(self, filepath, **kwargs)

    def get_config(self):
        return {
            "name": self.name,
            "trainable": self.trainable,
            "backbone": keras.saving.serialize_keras_object(self.backbone),
            "preprocessor": keras.saving.serialize_keras_object(self.preprocessor),
            **quantization_config(self),
        }

    @classmethod
    def from_config(cls, config):
        parts = {
            name: keras.saving.deserialize_keras_object(config[name])
            for name in ("backbone", "preprocessor")
            if isinstance(config.get(name), dict)
        }
        return quantized_from_config(cls, {**config, **parts})

    def _trim(self):
        """How far batches of raw text are cut; `trim` of the datasets."""
        from keras_bert.preprocessing.batch_shapes import batch_shapes

        return batch_shapes(self.preprocessor.sequence_length)["trim"]

    def _takes_any_order(self, x):
        """Whether `x` is texts in memory whose outputs don't depend on how far they are padded."""
        if _is_dataset(x) or not holds_text(x) or self.preprocessor is None:
            return False
        return self._has_one_shape()

    def _has_one_shape(self):
        """Whether the outputs of a row don't depend on how far it is padded."""
        return all(None not in part.shape[1:] for part in keras.tree.flatten(self.output))

    def _predict_by_length(self, x, batch_size, **kwargs):
        """The outputs of texts in memory, long ones and short ones apart."""
        from keras_bert.preprocessing.text_dataset import num_texts

        numbers = np.arange(num_texts(x))
        batches = self.text_batches(
            x, numbers, batch_size=batch_size, longest_first=True, trim=self._trim()
        )
        order = np.concatenate([rows for _, rows in batches.as_numpy_iterator()])
        outputs = super().predict(batches.map(lambda inputs, _: inputs), **kwargs)
        return keras.tree.map_structure(lambda part: part[np.argsort(order)], outputs)

    def _check_whole_executions(self, name, steps):
        """Raises a ValueError if so many steps are no whole number of executions."""
        if self.compiled and steps and steps % self.steps_per_execution:
            raise ValueError(
                f"{name}={steps} is not a multiple of steps_per_execution="
                f"{self.steps_per_execution}, so that there would be more steps than that. Choose "
                "one of its divisors in compile."
            )

    def _divide(self, accumulation_steps):
        """Sets into how many parts a batch is divided."""
        check_accumulation(accumulation_steps)
        if accumulation_steps != self.accumulation_steps:
            self.accumulation_steps = accumulation_steps
            self.train_function = None  # it knew the other number

    def _without_unread(self, variables):
        if self.reads_pooler or not hasattr(self, "backbone"):
            return variables
        unread = {id(variable) for variable in self.backbone.pooler.variables}
        return [variable for variable in variables if id(variable) not in unread]

    def _prepared(self, x, y=None, sample_weight=None, batch_size=None, shuffle=False, learns=True):
        """`(x, y, sample_weight)` with text replaced by a dataset of what the model takes."""
        if y is not None:
            self.check_labels(y)
        check = self.checked_dataset if learns and _is_dataset(x) else lambda dataset: dataset
        if not holds_text(x):
            return check(x), y, sample_weight
        if self.preprocessor is None:
            raise ValueError(
                f"{type(self).__name__} was given text, but it has no preprocessor. Make it with "
                "preprocessor=BertPreprocessor(tokenizer), or start from a preset that has one."
            )
        dataset = self.text_batches(
            x,
            y,
            sample_weight,
            batch_size=batch_size or 32,
            shuffle=shuffle,
            trim=learns and self._has_one_shape() and self._trim(),
        )
        return check(dataset), None, None


def holds_text(x):
    """Whether `x` is text: a string, lists or arrays of them, or a dataset that gives them."""
    if hasattr(x, "element_spec"):
        spec = x.element_spec
        return holds_text(spec[0] if isinstance(spec, tuple) else spec)
    if isinstance(x, (str, bytes)):
        return True
    if isinstance(x, dict):
        return "text" in x  # with what stands beside it
    if isinstance(x, (list, tuple)):
        return not x or holds_text(x[0])  # no texts, not no inputs
    dtype = getattr(x, "dtype", None)
    return getattr(dtype, "kind", None) in ("U", "S", "O") or "string" in str(dtype)


def _is_dataset(x):
    return hasattr(x, "element_spec")


def _check_fits(preprocessor, backbone):
    words = preprocessor.tokenizer.vocabulary_size()
    if words > backbone.vocabulary_size:
        raise ValueError(
            f"The tokenizer has {words} words, the backbone's table only "
            f"{backbone.vocabulary_size}: its ids would fall outside. Use the vocabulary that the "
            f"backbone was made for, or make it with vocabulary_size={words}."
        )
    length = preprocessor.sequence_length
    if length > backbone.max_sequence_length:
        raise ValueError(
            f"The preprocessor makes sequences of {length} tokens, but the backbone has "
            f"positions for {backbone.max_sequence_length}. Set the preprocessor's "
            f"sequence_length to at most {backbone.max_sequence_length}."
        )
