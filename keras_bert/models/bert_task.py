"""The base of every task: a backbone, a head, and the preprocessor that knows text."""

import dataclasses

import keras

from keras_bert.models.optional_inputs import complete
from keras_bert.models.row_outputs import row_outputs
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.class_labels import check_not_one_hot
from keras_bert.preprocessing.model_inputs import checked_inputs
from keras_bert.preprocessing.raw import count, is_dataset, is_raw, is_single, take
from keras_bert.presets.preset import load_preset, save_preset
from keras_bert.presets.quantization import quantization_config, quantized_from_config
from keras_bert.training.train_loop import TrainLoop
from keras_bert.training.whole_batch import check_accumulation


class BertTask(TrainLoop, keras.Model):
    """A model with a backbone, a head, and the preprocessor that turns examples into its inputs.

    `fit`, `evaluate` and `predict` take what those of `keras.Model` take, and raw examples.
    `answer` gives what an exported model gives, `scores` the task's official metrics. A task that
    was not compiled trains with its `default_compile_args()`. Subclass it for a task of your own: make the
    layers, call `super().__init__`, and override `preprocessor_class`, `default_compile_args` and
    `get_config`.

    Args:
        inputs: a dict of Keras inputs, those of the backbone among them.
        outputs: a Keras tensor, or a dict of them.
        backbone: a `BertBackbone`.
        preprocessor: one of `preprocessor_class()`, for raw examples; or None. Any other
            `BertPreprocessor` is converted, with that class's defaults.
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

    uses_pooler = True  # False of a task whose head reads the vectors of tokens alone
    from_preset = classmethod(load_preset)
    save_to_preset = save_preset

    def __init__(self, inputs, outputs, backbone, preprocessor=None, **kwargs):
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)
        self.backbone = backbone
        self.preprocessor = preprocessor

    def __call__(self, inputs, *args, **kwargs):
        return super().__call__(complete(inputs), *args, **kwargs)

    @classmethod
    def preprocessor_class(cls):
        """The class of preprocessor that reads this task's examples."""
        from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor

        return BertPreprocessor

    @property
    def preprocessor(self):
        """The preprocessor, or None."""
        return self._preprocessor

    @preprocessor.setter
    def preprocessor(self, preprocessor):
        if preprocessor is not None:
            if not isinstance(preprocessor, self.preprocessor_class()):
                preprocessor = self.preprocessor_class().like(preprocessor)
            preprocessor = preprocessor.for_model(self.backbone, self.output)
        self._preprocessor = preprocessor

    @property
    def trainable_variables(self):
        """Trainable variables, without the pooler's if the head doesn't use it."""
        return self._without_unused(super().trainable_variables)

    @property
    def trainable_weights(self):
        """The same, which Keras asks for too."""
        return self._without_unused(super().trainable_weights)

    def default_compile_args(self):
        """The arguments of `compile` that suit this task: optimizer, loss and metrics."""
        raise NotImplementedError

    def batches(self, x, y=None, sample_weight=None, *, batching=None):
        """Makes the batches that `fit` trains on.

        Args:
            x: raw examples, in memory or a `tf.data.Dataset` of texts; or prepared inputs.
            y: labels, by name or by number, unless `x` brings its own.
            sample_weight: `[n]` floats, or None.
            batching: a `Batching`, or None for its defaults.

        Returns:
            A `tf.data.Dataset` of inputs, or of `(inputs, labels)` or `(inputs, labels, weights)`.
        """
        batching = Batching() if batching is None else batching
        if not is_raw(x):
            from keras_bert.preprocessing.prepared import prepared_batches

            return prepared_batches(*self._checked(x, y, sample_weight), batching)
        reader, x = self._reader(x), checked_inputs(self, x)
        self._check_not_one_hot(y)
        return reader.batches(x, y, sample_weight, batching=batching)

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
        batching=None,
        **kwargs,
    ):
        """Trains, as `keras.Model.fit`, to the same numbers on one device and on many.

        Args:
            x: raw examples (see the task), a `tf.data.Dataset` of `(text, label)`, batched or not;
                or prepared inputs. Lists, arrays and pandas columns will do.
            y: labels, by name or by number, unless `x` brings its own.
            batch_size: int; 32 by default.
            sample_weight: `[n]` floats, or None.
            validation_data: `(x, y)`, `(x, y, sample_weight)`, or a dataset.
            validation_split: float, the part of the examples, their last ones, to validate on.
            shuffle: bool, whether examples in memory are shuffled in each epoch.
            accumulation_steps: int, the parts that each replica splits its batch into, one after
                the other: the same step in less memory.
            batching: a `Batching` of raw examples, in place of `batch_size`.
            **kwargs: those of `keras.Model.fit`.

        Returns:
            The `History`, as `keras.Model.fit`.

        Raises:
            ValueError: if labels are outside the classes, raw examples are given to a task without
                a preprocessor, or `steps_per_execution` doesn't divide the steps asked for. Labels
                in a `tf.data.Dataset` are checked on their way to the model; a wrong one raises a
                `tf.errors.InvalidArgumentError`.
        """
        self._compile_by_default()
        self._set_accumulation(accumulation_steps)
        for name in ("steps_per_epoch", "validation_steps"):
            self._check_whole_executions(name, kwargs.get(name))
        if is_raw(x) and validation_split:
            cut = int(count(x) * (1 - validation_split))
            parts = (x, y, sample_weight)
            validation_data = tuple(take(part, slice(cut, None)) for part in parts)
            x, y, sample_weight = (take(part, slice(cut)) for part in parts)
            validation_split = 0.0
        if validation_data is not None:
            is_tuple = isinstance(validation_data, tuple)
            held_out = self._data(*(validation_data if is_tuple else (validation_data,)))
            validation_data = held_out[0] if is_dataset(held_out[0]) else held_out
        batching = self._batching(batching, batch_size, shuffle)
        x, y, sample_weight = self._data(x, y, sample_weight, batching)
        if is_dataset(x):
            shuffle = False  # the dataset is shuffled already
        else:
            kwargs.update(batch_size=batch_size, validation_split=validation_split)
        kwargs.update(sample_weight=sample_weight, validation_data=validation_data, shuffle=shuffle)
        return super().fit(x, y, **kwargs)

    def evaluate(
        self, x=None, y=None, batch_size=None, *, sample_weight=None, batching=None, **kwargs
    ):
        """Loss and metrics, as `keras.Model.evaluate`; takes what `fit` takes.

        Of texts that are read in windows they are those of whole texts, from their pooled logits.
        """
        self._compile_by_default()
        self._check_whole_executions("steps", kwargs.get("steps"))
        if is_raw(x) and self._reader(x).cuts_windows:
            return self._evaluate_pooled(x, y, sample_weight, batch_size, **kwargs)
        batching = self._batching(batching, batch_size).for_evaluation()
        x, y, sample_weight = self._data(x, y, sample_weight, batching)
        batch_size = None if is_dataset(x) else batch_size
        return super().evaluate(x, y, batch_size=batch_size, sample_weight=sample_weight, **kwargs)

    def predict(self, x, batch_size=None, **kwargs):
        """The outputs as arrays, as `keras.Model.predict`; takes what `fit` takes as `x`.

        Args:
            x: raw examples or prepared inputs. Raw examples in memory are read in batches of
                similar lengths, so that little of them is padding.
            batch_size: int; 32 by default.
            **kwargs: those of `keras.Model.predict`.

        Returns:
            Outputs, a row for each row that `batches` makes of `x` in order, or for each text
            whose windows are pooled. An axis of tokens is as long as the preprocessor's sequences.
        """
        self._check_whole_executions("steps", kwargs.get("steps"))
        if not is_raw(x):
            x = checked_inputs(self, x)
            return super().predict(x, batch_size=None if is_dataset(x) else batch_size, **kwargs)
        reader, x = self._reader(x), checked_inputs(self, x)
        if is_dataset(x) and not reader.cuts_windows:
            batching = self._batching(None, batch_size).for_evaluation()
            if any(None in part.shape[1:] for part in keras.tree.flatten(self.output)):
                batching = dataclasses.replace(batching, pad_to="full")
            x = reader.batches(x, batching=batching, with_labels=False)
            return super().predict(x, **kwargs)
        if is_dataset(x):
            from keras_bert.preprocessing.text_examples import in_memory

            x, *_ = in_memory(x)
        return self._pooled_outputs(reader.read(x), batch_size, **kwargs)

    def answer(self, x, batch_size=None, *, verbose=0, **options):
        """Answers examples, as the exported model does.

        Args:
            x: raw examples, in memory or a `tf.data.Dataset` of texts; or prepared inputs.
            batch_size: int, rows that the model takes at once; 32 by default.
            verbose: 0, or 1 for progress bars.
            **options: those of the preprocessor's `answers`, such as `n_best` of a span labeler.

        Returns:
            A list with a dict for each example, whose keys are those of the exported model; of a
            single example its dict. The preprocessor's `answers` documents them.

        Raises:
            ValueError: if there is no preprocessor, or `x` is not what it reads.
        """
        from keras_bert.preprocessing.answer_dicts import answer_dicts

        reader = self._reader(x)
        if not is_raw(x):
            outputs = self.predict(x, batch_size=batch_size, verbose=verbose)
            return answer_dicts(reader.answers(outputs, **options))
        found = []
        for part in reader.parts(checked_inputs(self, x)):
            rows = reader.read(part)
            outputs = self._pooled_outputs(rows, batch_size, verbose=verbose)
            found += answer_dicts(reader.answers(outputs, rows, **options))
        return found[0] if is_single(x) else found

    def scores(self, x, y=None, batch_size=None):
        """The task's official metrics.

        Args:
            x: examples, as `answer` takes them.
            y: labels, by name or by number, unless `x` brings its own.
            batch_size: int; 32 by default.

        Returns:
            A dict of floats; the preprocessor's `scores` documents them.
        """
        reader = self._reader(x)
        if is_dataset(x):
            from keras_bert.preprocessing.prepared import labels_of

            x, y = labels_of(x)
        answers = self.answer(x, batch_size)
        return reader.scores([answers] if isinstance(answers, dict) else answers, x, y)

    def export(self, filepath, format="tf_saved_model", **kwargs):
        """Writes a SavedModel that answers raw strings, for TensorFlow Serving.

        Args:
            filepath: the model's folder; version 1 of it is written to `filepath/1`.
            format: `"tf_saved_model"`; others are left to `keras.Model.export`.
            **kwargs: those of `keras_bert.serving.export_saved_model`, or of `keras.Model.export`.

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

    def _data(self, x, y=None, sample_weight=None, batching=None):
        """`(x, y, sample_weight)` for Keras: raw examples become a dataset."""
        if is_raw(x):
            batching = Batching().for_evaluation() if batching is None else batching
            return self.batches(x, y, sample_weight, batching=batching), None, None
        return self._checked(x, y, sample_weight)

    def _checked(self, x, y, sample_weight):
        """Prepared inputs and their labels, as the loss takes them."""
        x = checked_inputs(self, x)
        if is_dataset(x):
            return self.checked_dataset(x), y, sample_weight
        self._check_not_one_hot(y)
        return x, None if y is None else self.targets(y, x), sample_weight

    def targets(self, y, x=None):
        """Labels of prepared inputs as the loss takes them: names become numbers."""
        return y if self.preprocessor is None else self.preprocessor.targets(y)

    def checked_dataset(self, dataset):
        """A dataset of prepared inputs that ends in an error at a label of no class."""
        return dataset

    def _reader(self, x):
        if self.preprocessor is None:
            raise ValueError(
                f"{type(self).__name__} was given text, but it has no preprocessor. Make it with "
                f"preprocessor={self.preprocessor_class().__name__}(tokenizer), or start from a "
                "preset that has one."
            )
        return self.preprocessor

    def _pooled_outputs(self, rows, batch_size, **kwargs):
        """Outputs of rows that were read, pooled as the preprocessor does."""
        outputs = row_outputs(self, super().predict, rows, batch_size or 32, **kwargs)
        pooled = self.preprocessor.pooled(outputs, rows)
        return keras.tree.map_structure(keras.ops.convert_to_numpy, pooled)

    def _evaluate_pooled(self, x, y, sample_weight, batch_size, return_dict=False, **kwargs):
        """Loss and metrics of texts, from the pooled logits of their windows."""
        if is_dataset(x):
            from keras_bert.preprocessing.text_examples import in_memory

            x, y, sample_weight = in_memory(x)
        if y is None:
            raise ValueError("evaluate needs labels: give y, or a dataset of (text, label).")
        logits = keras.ops.convert_to_tensor(self.predict(x, batch_size, **kwargs))
        y = keras.ops.convert_to_tensor(self.targets(y))
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

    def _batching(self, batching, batch_size, shuffle=False):
        if batching is not None and batch_size is not None:
            raise ValueError("Give batch_size or batching, not both: Batching(batch_size=...).")
        batching = Batching(batch_size or 32) if batching is None else batching
        shuffle = shuffle and not batching.longest_first
        return dataclasses.replace(batching, shuffle=bool(shuffle))

    def _check_not_one_hot(self, y):
        if y is not None and hasattr(self, "num_classes"):
            loss = self.loss if self.compiled else self.default_compile_args()["loss"]
            check_not_one_hot(y, self.num_classes, loss)

    def _compile_by_default(self):
        if not self.compiled:
            self.compile(**self.default_compile_args())

    def _check_whole_executions(self, name, steps):
        """Raises a ValueError if so many steps are no whole number of executions."""
        if self.compiled and steps and steps % self.steps_per_execution:
            raise ValueError(
                f"{name}={steps} is not a multiple of steps_per_execution="
                f"{self.steps_per_execution}, so that there would be more steps than that. Choose "
                "one of its divisors in compile."
            )

    def _set_accumulation(self, accumulation_steps):
        check_accumulation(accumulation_steps)
        if accumulation_steps != self.accumulation_steps:
            self.accumulation_steps = accumulation_steps
            self.train_function = None  # it was traced for the other number

    def _without_unused(self, variables):
        if self.uses_pooler or not hasattr(self, "backbone"):
            return variables
        unused = {id(variable) for variable in self.backbone.pooler.variables}
        return [variable for variable in variables if id(variable) not in unused]
