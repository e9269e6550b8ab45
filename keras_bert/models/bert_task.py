"""The base of every task: a backbone, a head, and the preprocessor that knows text."""

import dataclasses
import inspect
from typing import Any, TypedDict, Unpack, overload

import keras
import numpy as np

import keras_bert
from keras_bert.data.columns import check_columns, example_weights, weighted_by_class
from keras_bert.data.data import may_have_weights, reading
from keras_bert.data.data_of import data_of, for_validation, validation_data_of
from keras_bert.messages import NO_EXAMPLES, check_number
from keras_bert.models import compiling
from keras_bert.models.answering import Predictor, answer_dicts
from keras_bert.models.fit_schedule import start_schedule, warn_of_high_rate
from keras_bert.models.keras_model import Model
from keras_bert.models.lora import adapters
from keras_bert.models.more_words import with_more_words
from keras_bert.models.precision import policy_config, set_policy
from keras_bert.models.row_inputs import RowInputs
from keras_bert.models.task_parts import fitting_preprocessor, head_policy, preprocessor_config
from keras_bert.preprocessing.batches import Batches, StreamBatches
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.bert_preprocessor import preprocessor_of
from keras_bert.preprocessing.forms import as_arrays, in_numpy, is_dataset
from keras_bert.preprocessing.labels import AnyLabels, ClassLabels, SeveralLabels
from keras_bert.presets.preset import PresetModel
from keras_bert.presets.preset_arguments import check_passed_on, layers_config, model_from_config
from keras_bert.presets.save_model import save_adapter
from keras_bert.saved import own_arguments, saved_arguments
from keras_bert.scoring.scorer import Scorer
from keras_bert.serving.export_model import export_model
from keras_bert.training.keras_internals import (
    drop_metrics,
    given_metrics,
    is_validation,
    updated_variables,
)
from keras_bert.training.strategy import scope_of
from keras_bert.training.train_loop import TrainLoop


class KerasFit(TypedDict, total=False):
    """Arguments that `BertTask.fit` leaves to `keras.Model.fit`, for editors and type checkers."""

    callbacks: Any
    class_weight: dict | str | None
    initial_epoch: int
    steps_per_epoch: int | None
    validation_steps: int | None
    validation_batch_size: int | None
    validation_freq: int | list[int]


class BertTask(
    PresetModel,
    compiling.Retracing,
    TrainLoop,
    RowInputs,
    Model,
):
    """A model with a backbone, a head, and the preprocessor that turns examples into its inputs.

    `fit`, `evaluate` and `predict` take what those of `keras.Model` take, and raw examples;
    `answer` returns the exported model's answers, `scores` the task's official metrics. Subclass it
    for a task of your own: make the layers, call `super().__init__`, and override
    `preprocessor_class` and `default_compile_args`. Arguments of its constructor are saved; of
    an attribute of the same name, the current value.

    Args:
        inputs: a dict of Keras inputs, those of `backbone.input` among them.
        outputs: a Keras tensor, or a dict of them.
        backbone: a `Backbone`, such as `BertBackbone`.
        preprocessor: one of `preprocessor_class()`, such as `BertClassifierPreprocessor`, for raw
            examples; or None. Any other `BertPreprocessor` is converted, with that class's
            defaults.
        dtype: the dtype policy of the head, as of `BertBackbone`; None means the backbone's. A
            subclass also gives it to the layers of its head; scores that are compared, such as
            logits of classes and of documents, are float32 in place of half precision.
        trainable: bool; False freezes the whole model, its backbone included.
        **kwargs: those of `keras.Model`.

    Call arguments:
        inputs: a dict of the backbone's inputs, and of those that the task adds.

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

    preprocessor_name = "BertPreprocessor"
    scorer_class = Scorer  # of answers
    takes_labels = True  # False of a task that learns from texts alone
    takes_columns = False  # whether inputs may be a tuple of dicts, one for each text of an example
    reads = "pooled_output"  # of the backbone; see `Backbone.unused_by`
    _schedules_fit = False  # whether `fit` makes its own optimizer

    def __init__(
        self, inputs, outputs, backbone, preprocessor=None, dtype=None, trainable=True, **kwargs
    ):
        check_passed_on(
            type(self),
            kwargs,
            " Settings for text, labels or answers are arguments of its preprocessor, "
            f"{self.preprocessor_name}(tokenizer, ...).",
        )
        policy = head_policy(self, backbone, dtype)
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)
        set_policy(self, dtype, policy)
        self.backbone = backbone
        self.preprocessor = preprocessor
        if not trainable:  # Keras would set it before the model has its layers
            self.trainable = False

    @classmethod
    def preprocessor_class(cls):
        """Returns the class of preprocessor that reads this task's examples."""
        return getattr(keras_bert, cls.preprocessor_name)  # loads TensorFlow, as few others do

    @property
    def preprocessor(self):
        """The preprocessor, or None."""
        return self._preprocessor

    @preprocessor.setter
    def preprocessor(self, preprocessor):
        if preprocessor is not None:
            preprocessor = fitting_preprocessor(self, preprocessor, self._takes)
        self._preprocessor = preprocessor

    @property
    def scorer(self):
        """The `Scorer` of the task's answers, which also tunes them and writes them to files."""
        return self.scorer_class(preprocessor_of(self))

    @property
    def predictor(self):
        """The `Predictor` of examples and of prepared inputs."""
        return Predictor(self, super().predict)

    @property
    def trainable_variables(self):
        """Trainable variables that the output depends on; without the pooler's if it is unused."""
        variables = super().trainable_variables
        if not hasattr(self, "backbone"):  # while Keras makes it
            return variables
        used = {id(variable) for layer in self.layers for variable in layer.variables}
        used -= {id(variable) for variable in self.backbone.unused_by(self.reads)}
        return [variable for variable in variables if id(variable) in used]

    trainable_weights = trainable_variables  # Keras asks for both

    def default_compile_args(self):
        """The arguments of `compile` that suit this task; `compile` takes those left out."""
        raise ValueError(
            f"{type(self).__name__} has no default_compile_args: call compile(...) before fit, or "
            "override that method."
        )

    @property
    def _has_defaults(self):
        return type(self).default_compile_args is not BertTask.default_compile_args

    def compile(
        self,
        optimizer=None,
        loss=None,
        loss_weights=None,
        metrics=None,
        weighted_metrics=None,
        **kwargs,
    ):
        """Compiles like `keras.Model.compile`; omitted arguments get the task's defaults.

        Args:
            optimizer: as in Keras. If left out, each `fit` makes that of `default_compile_args`
                for its own steps; see `fit`.
            loss: as in Keras; if left out, that of `default_compile_args`. The outputs of
                classifying tasks are logits, so that a cross-entropy needs `from_logits=True`.
            loss_weights: as in Keras.
            metrics: as in Keras; if left out with the loss, those of `default_compile_args`. A
                window of a text counts by its share of the text.
            weighted_metrics: as in Keras. Either kind leaves out slots of weight 0, such as tokens
                that have no label.
            **kwargs: the others of `keras.Model.compile`.

        Raises:
            ValueError: if a loss or a metric takes probabilities, and the outputs are logits.
        """
        compiling.check_no_rate(kwargs)
        with scope_of(self):
            defaults = {}
            if self._has_defaults or (optimizer is None and loss is None):
                defaults = self.default_compile_args()
            arguments = compiling.arguments(
                defaults, optimizer, loss, loss_weights, metrics, weighted_metrics
            )
            self._compile(optimizer is None and bool(defaults), {**arguments, **kwargs})

    def get_compile_config(self):
        config = super().get_compile_config()
        if not config:
            return config
        optimizer = {
            **keras.saving.serialize_keras_object(self.optimizer),
            "schedules_fit": self._schedules_fit,  # Keras ignores this and the next, in clones too
            "optimized": [variable.path for variable in updated_variables(self.optimizer)],
        }
        scales = isinstance(self.optimizer, keras.optimizers.LossScaleOptimizer)
        return {**config, "optimizer": optimizer, "auto_scale_loss": scales}

    def compile_from_config(self, config):
        optimizer = config["optimizer"]
        schedules_fit = optimizer.get("schedules_fit", False)
        optimized = optimizer.get("optimized", [])
        self._compile(schedules_fit, keras.saving.deserialize_keras_object(config))
        if self.built:
            variables = {variable.path: variable for variable in self.variables}
            known = [variables[path] for path in optimized if path in variables]  # or merged since
            if all("float" in variable.dtype for variable in known):  # not quantized since
                self.optimizer.build(known or self.trainable_variables)

    @property
    def labels(self):
        """The rules of labels, an `AnyLabels`; by default the preprocessor's."""
        preprocessor = self.preprocessor
        return AnyLabels() if preprocessor is None else preprocessor.labels

    def targets(self, y):
        """Returns labels of prepared inputs as the loss takes them, in NumPy."""
        convert = self.labels.numbers if self.preprocessor is None else self.preprocessor.targets
        return in_numpy(convert(as_arrays(y)))

    def data_to_fit(self, data, arguments):
        """Returns the `Data` that `fit` trains on; one in memory has weights by `class_weight`.

        Other data leave weights by class numbers in Keras's `arguments`.
        """
        labels = self.labels
        labels.warn_of_equal(data.y)
        if arguments.get("class_weight") is None:
            return data
        if not isinstance(labels, ClassLabels):
            raise ValueError(
                f"class_weight needs one class for each text, and this {type(self).__name__} has "
                "none: leave it out. Several labels of a text are weighed by "
                "compile(loss=keras_bert.losses.WeightedBinaryCrossentropy(pos_weight))."
            )
        if data.y is None:
            by_class = labels.weights(arguments["class_weight"])
            arguments["class_weight"] = dict(enumerate(by_class.tolist()))
            return data
        weights = labels.weights(arguments.pop("class_weight"), self.targets(data.y))
        given = example_weights(self, None, data.sample_weight, len(weights))
        return data.in_memory().with_weights(weights if given is None else weights * given)

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs: int = 1,
        verbose: int | str = "auto",
        *,
        sample_weight=None,
        validation_data=None,
        validation_split=0.0,
        shuffle=True,
        accumulation_steps=1,
        batching=None,
        **kwargs: Unpack[KerasFit],
    ):
        """Trains like `keras.Model.fit`, with the same results on any number of devices.

        Without an optimizer in `compile`, or without `compile`, each call takes a new optimizer of
        `default_compile_args`. Its learning rate rises to the default one in a tenth of the steps
        that the call takes, and falls linearly to 0. If their number is unknown, as that of a
        generator without `steps_per_epoch` is, the learning rate is constant, and a note is logged.
        A run that is to resume from a `TrainingCheckpoint` needs an optimizer of its own, with a
        schedule over all of its steps. A loss that becomes NaN or infinite is logged at the end of
        the epoch, with its step.

        `trainable = False` of a layer takes effect in the next call. To train a layer that was
        frozen when an optimizer of `compile` was first used, compile with a new optimizer.

        Args:
            x: raw examples (see the task) as lists, arrays or pandas columns; or a stream of
                `(text, label)`, or of dicts with `text` and `label`: a generator, a loader, or a
                `tf.data.Dataset`. A stream is read in chunks while the model trains, again for
                each epoch and in its own order; a generator, which can be read once, is read into
                memory for several epochs. With `steps_per_epoch`, each epoch resumes where the last
                one ended. Or prepared inputs.
            y: labels, by name or by number, unless `x` contains them.
            batch_size: int; 32 by default.
            epochs: int, passes over the data.
            verbose: as in Keras: `"auto"`, 0 for silence, 1 for a progress bar, 2 for a line.
            sample_weight: `[n]` floats, or None; datasets, batches and loaders contain them.
            validation_data: `(x, y)`, `(x, y, sample_weight)`, or a dataset.
            validation_split: float, the share of the examples, the last ones, to validate on if
                there is no `validation_data`.
            shuffle: bool, whether examples in memory are shuffled in each epoch, unless `batching`
                has `shuffle=False`.
            accumulation_steps: int, the parts that each replica splits its batch into, one after
                the other: the same step in less memory.
            batching: a `Batching`, in place of `batch_size`. Of prepared inputs in memory it sets
                the batch size and the order alone.
            **kwargs: the others of `keras.Model.fit`, whose `History` is returned. The
                `class_weight` of a `BertClassifier` is a dict by name or number, 1 if missing; or
                `"balanced"`, n / (C x the texts of the class). In memory, it multiplies
                `sample_weight`.

        Raises:
            ValueError: if labels are outside the classes, raw examples have no preprocessor, the
                optimizer doesn't know a trainable weight, or `steps_per_execution` doesn't divide
                the steps asked for. A wrong label in a prepared `tf.data.Dataset` raises a
                `tf.errors.InvalidArgumentError`.
        """
        compiling.check_no_rate(kwargs)
        if not self.compiled:
            self.compile()
        compiling.check_trainable(self)
        self._check_whole_executions(kwargs)
        self._set_accumulation(accumulation_steps)
        check_number("validation_split", validation_split, at_least=0, below=1)
        batching = Batching.of(batching, batch_size)
        batching = dataclasses.replace(batching, shuffle=shuffle and batching.shuffle is not False)
        kwargs |= {"epochs": epochs, "verbose": verbose}
        data = data_of(self, x, y, sample_weight)
        held_out = None
        to_validate = Batching(kwargs.get("validation_batch_size") or batching.batch_size)
        if validation_data is not None:
            held_out = validation_data_of(self, validation_data)
        elif validation_split:
            data, held_out = data.split(validation_split)
        data = self.data_to_fit(data, kwargs)
        passes = epochs - kwargs.get("initial_epoch", 0)
        x, y, sample_weight = data.for_keras(batching, kwargs.get("steps_per_epoch"), passes)
        if kwargs.get("class_weight") is not None and may_have_weights(x):
            x = weighted_by_class(x, kwargs.pop("class_weight"))
        if held_out is not None:
            validation_data = for_validation(held_out, to_validate, kwargs.get("validation_steps"))
        has_order = is_dataset(x) or isinstance(x, (Batches, StreamBatches))
        if not has_order:
            kwargs["batch_size"] = batching.batch_size
        if self._schedules_fit:
            start_schedule(self, x, kwargs)
        else:
            warn_of_high_rate(self, kwargs)
        with reading(data, held_out):
            history = super().fit(
                x,
                y,
                sample_weight=sample_weight,
                validation_data=validation_data,
                shuffle=batching.shuffle and not has_order,
                **kwargs,
            )
        if history.epoch and not history.history:
            raise ValueError(NO_EXAMPLES)
        return history

    def batches(self, x, y=None, sample_weight=None, *, batching=None):
        """Makes the batches that `fit` trains on.

        Args:
            x: raw examples, in memory or a stream; or prepared inputs.
            y: labels, by name or by number, unless `x` contains them.
            sample_weight: `[n]` floats, or None.
            batching: a `Batching`, or None for its defaults.

        Returns:
            Inputs, `(inputs, labels)` or `(inputs, labels, weights)`: an iterable of NumPy arrays,
            in a new order in each pass if shuffled; a `tf.data.Dataset` if `x` is one of inputs.
            Inputs of windows have `window_share`, by which losses and metrics of this library count
            them. To train another `keras.Model`, multiply the weights by it.

        Raises:
            ValueError: if examples, labels or weights are not what the task takes.
        """
        return data_of(self, x, y, sample_weight).batches(Batching.of(batching))

    def evaluate(
        self, x=None, y=None, batch_size=None, *, sample_weight=None, batching=None, **kwargs
    ):
        """Loss and metrics, as `keras.Model.evaluate`; takes what `fit` takes.

        For texts that are read in windows they are those of whole texts, from their pooled logits.
        """
        if not self.compiled:
            self.compile()
        self._check_whole_executions(kwargs)
        data = None
        if not is_validation(kwargs):  # of `fit`, which has read the data
            batching = Batching.of(batching, batch_size).for_evaluation()
            data = data_of(self, x, y, sample_weight)
            steps = kwargs.get("steps")
            if data.is_raw and preprocessor_of(self).cuts_windows:
                most = batching.num_rows(steps)
                return self.predictor.evaluate(data, batching.batch_size, most, **kwargs)
            x, y, sample_weight = data.for_keras(batching, steps)
            batch_size = None if is_dataset(x) else batch_size
        kwargs = {"batch_size": batch_size, "sample_weight": sample_weight, **kwargs}
        with reading(data):
            logs = super().evaluate(x, y, **kwargs)
        if logs in ([], {}):
            raise ValueError(NO_EXAMPLES)
        return logs

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None) -> np.ndarray:
        """The outputs as arrays, as `keras.Model.predict`; `x` as for `fit`.

        There is a row for each row that `batches` makes of `x`, in order, or for each text whose
        windows are pooled. An axis of tokens is as long as the preprocessor's sequences. Raw
        examples in memory are read in batches of similar lengths, so that little is padding.
        """
        self._check_whole_executions({"steps": steps})
        data = data_of(self, x, with_labels=False)
        return self.predictor.outputs(data, batch_size, steps, verbose, callbacks)

    @overload
    def answer(self, x: str, *args: Any, **options: Any) -> dict[str, Any]: ...
    @overload
    def answer(self, x: list, *args: Any, **options: Any) -> list[dict[str, Any]]: ...
    @overload
    def answer(self, x: Any, *args: Any, **options: Any) -> Any: ...

    def answer(self, x, batch_size=None, *, verbose=0, **options):
        """Answers examples as the exported model does.

        Args:
            x: raw examples, in memory or a stream; or prepared inputs.
            batch_size: int, rows per batch; 32 by default.
            verbose: 0, or 1 for progress bars.
            **options: options of the preprocessor's `answers`, such as a span labeler's `n_best`.

        Returns:
            A list of dicts, one per example, with the keys of the exported model; for a single
            example, a dict. The preprocessor's `answers` documents the keys. Values are plain
            Python, which `json.dumps` takes; arrays come from `predict`.

        Raises:
            ValueError: if there is no preprocessor, or `x` is not what it reads.
            TypeError: if the preprocessor has no such option.
        """
        preprocessor = preprocessor_of(self)
        for name in options:
            if name in preprocessor.arguments():
                raise TypeError(
                    f"answer has no {name}: first set model.preprocessor = "
                    f"model.preprocessor.like(model.preprocessor, {name}=...)."
                )
        inspect.signature(preprocessor.answers).bind(None, None, **options)  # or a TypeError
        data = data_of(self, x, with_labels=False)
        answers = []
        for outputs, rows in self.predictor.chunks(data, batch_size, verbose):
            columns = preprocessor.answers(outputs, rows, **options)
            answers += answer_dicts(columns)
        return answers[0] if data.is_single else answers

    def answers_to_score(self, x, batch_size=None, *, y=None, verbose=0, **options):
        """Answers examples as the task's `scorer` takes them; a task may override it."""
        return self.answer(x, batch_size, verbose=verbose, **options)

    def scores(self, x, y=None, batch_size=None) -> dict[str, Any]:
        """Computes the task's official metrics.

        Args:
            x: examples, as `answer` takes them.
            y: labels, by name or by number, unless `x` contains them.
            batch_size: int; 32 by default.

        Returns:
            A dict of floats; the scorer's `score` documents them.

        Raises:
            ValueError: if there is no preprocessor, labels are missing, or the task has no scores.
        """
        scorer = self.scorer
        data = data_of(self, x, y)
        if scorer.reads_examples and not data.is_raw:
            raise ValueError(
                f"scores of a {type(self).__name__} compares answers with the raw examples: give "
                "those, not inputs that were prepared from them."
            )
        data = data.in_memory()
        x = data.x
        y = data.y
        check_columns(self, data.count, y=y)
        scorer.check(x, y)
        answers = self.answers_to_score(x, batch_size, y=y, **scorer.answer_options)
        return scorer.score(answers, x, y)

    def grow_vocabulary(self, words):
        """Returns a copy with more words in its vocabulary; old tokens keep their ids and vectors.

        Use it for words of a domain, before pre-training goes on or fine-tuning. The vector of a
        new word begins as the mean of those of its pieces so far.

        Args:
            words: list of str, each then a token. Those that the tokenizer would split, such as
                "covid-19", are found within words, too.

        Returns:
            A model of the same class, not compiled.

        Raises:
            ValueError: if a word is empty or a token already, or the model is quantized or has
                adapters.

        Example:
        >>> from keras_bert import BertBackbone, BertClassifier, BertClassifierPreprocessor
        >>> from keras_bert import BertTokenizer, sizes
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "co", "##vid"]
        >>> reader = BertClassifierPreprocessor(BertTokenizer(words))
        >>> model = BertClassifier(BertBackbone(7, **sizes.tiny), 2, reader)
        >>> model.grow_vocabulary(["covid"]).preprocessor.tokenizer("covid covid")
        [7, 7]
        """
        return with_more_words(self, words)

    def class_counts(self, labels):
        """Counts the examples of each class, by name; empty for tasks without classes.

        Args:
            labels: as for `fit`. With several labels per text, each counts.
        """
        rules = self.labels
        if not isinstance(rules, (ClassLabels, SeveralLabels)):
            return {}
        return rules.counts(self.targets(labels))

    def check_labels(self, y):
        """Raises a ValueError unless labels have the form that the loss takes."""
        if y is None:
            return
        loss = self.loss
        if not self.compiled and self._has_defaults:
            loss = self.default_compile_args()["loss"]
        self.labels.check_loss(y, loss, given_metrics(self))

    def enable_lora(self, rank, alpha=None):
        """Freezes the encoder and adds low-rank adapters to its projections.

        `fit` then trains the adapters and the head: less memory for the optimizer, and a folder of
        a few megabytes for each task (`save_lora`). Presets and exported models hold the merged
        weights. An optimizer that has trained before doesn't know the adapters: compile again.
        Source: Hu et al. 2022 (LoRA).

        Args:
            rank: int, the rank of each adapter, such as 8.
            alpha: float above 0; adapters are scaled by `alpha / rank`. None means `rank`.

        Raises:
            ValueError: if the rank or alpha is out of range, or the task has adapters already.

        Example:
        >>> from keras_bert import BertBackbone, BertClassifier, sizes
        >>> model = BertClassifier(BertBackbone(vocabulary_size=100, **sizes.tiny), num_classes=2)
        >>> model.enable_lora(rank=4)
        >>> [variable.path for variable in model.trainable_variables[-3:]]
        ['block_1/output_dense/lora_kernel_b', 'logits/kernel', 'logits/bias']
        """
        self.backbone.enable_lora(rank, alpha)

    def save_lora(self, folder, base):
        """Writes the adapters and the head as a folder of PEFT.

        `from_preset(folder)` loads the base, adds the adapters to its weights, and takes the head.

        Args:
            folder: str or `Path`; an earlier model there is replaced.
            base: str, the weights that training began with: a folder, `"hf://user/name"` or
                `"user/name"` on the Hugging Face Hub.

        Raises:
            ValueError: if the model has no adapters, or is quantized, or transformers has no such
                encoder.
        """
        if not adapters(self.backbone):
            raise ValueError("This model has no LoRA adapters to save: call enable_lora first.")
        save_adapter(self, folder, base)

    def merge_lora(self):
        """Adds the adapters to the weights of the encoder and removes them.

        All weights are trainable again: compile with a new optimizer before training. Weights in
        int8 are rounded again, which moves outputs by some percent; to avoid it, train and merge
        adapters before `quantize`. A thread that calls the model meanwhile gets wrong answers:
        merge before you serve.
        """
        self.backbone.merge_lora()

    def export(self, filepath, format="tf_saved_model", **kwargs):
        """Writes a model for TensorFlow Serving, ONNX Runtime, LiteRT or OpenVINO.

        The SavedModel takes raw strings and gives answers. The other formats take token ids and
        give the outputs of `predict`, in float32; the tokenizer's files lie next to the model. The
        page "Which format for which runtime" lists inputs and outputs.

        Args:
            filepath: the model's folder, on disk or wherever `tf.io.gfile` writes; an earlier
                export there in the same format is replaced, except for a SavedModel.
            format: `"tf_saved_model"`, `"onnx"`, `"litert"` or `"openvino"`; `"torch"` is left
                to `keras.Model.export`.
            **kwargs: of a SavedModel, `version`, int, which is written to `filepath/version`:
                TensorFlow Serving serves the highest, also of those that are added while it runs.
                Of the others, `names` of inputs and outputs: `"hugging_face"`, by default for ONNX
                and OpenVINO, or `"keras_bert"`.

        Returns:
            The path of the SavedModel's version, or of the model's file.

        Raises:
            ValueError: if the format or an option is unknown, the version exists, the folder holds
                anything else, there is no preprocessor or no answers for a SavedModel, a layer
                doesn't compute in float32, Hugging Face can't run the model, or the backend is not
                TensorFlow.
            ImportError: if a package that the format needs is missing.
            OSError: if the folder can't be written; no part of it is left.
        """
        return export_model(self, filepath, format, **kwargs)

    def save_assets(self, dir_path):
        """Writes the vocabulary to the assets of a `.keras` file; Keras calls this."""
        if self.preprocessor is not None:
            self.preprocessor.tokenizer.save_assets(dir_path)

    def load_assets(self, dir_path):
        """Reads the vocabulary from the assets of a `.keras` file; Keras calls this."""
        if self.preprocessor is not None and dir_path is not None:  # else the config has it
            self.preprocessor.tokenizer.load_assets(dir_path)

    def own_arguments(self):
        """Returns the arguments that other tasks don't have."""
        own = own_arguments(self)
        for name in ("backbone", "preprocessor", "dtype"):
            own.pop(name, None)
        return own

    def get_config(self):
        return {
            **saved_arguments(self, self.own_arguments()),
            "name": self.name,
            "trainable": self.trainable,
            "backbone": keras.saving.serialize_keras_object(self.backbone),
            "preprocessor": preprocessor_config(self.preprocessor),
            **policy_config(self),
            **layers_config(self),
        }

    def __repr__(self):
        if getattr(self, "backbone", None) is None:  # while Keras makes it
            return super().__repr__()
        classes = getattr(self, "num_classes", None)
        head = "" if classes is None else f"num_classes={classes}, "
        return f"{type(self).__name__}({head}{self.backbone!r})"

    @classmethod
    def from_config(cls, config):
        if config.get("preprocessor") is not None:
            cls.preprocessor_class()  # its import registers the class that Keras looks up
        return model_from_config(cls, config)

    def _compile(self, schedules_fit, arguments):
        """Compiles with all arguments given; Keras would track those that were kept in a dict."""

        def compile_with(optimizer):
            self.reset_metrics()  # Keras can't before their first update, and they are used again
            drop_metrics(self)
            super(BertTask, self).compile(**{**arguments, "optimizer": optimizer})

        compile_with(arguments["optimizer"])
        self._compile_with = compile_with
        self._schedules_fit = schedules_fit

    def _takes(self, preprocessor):
        """Whether a preprocessor is one for this task."""
        return isinstance(preprocessor, self.preprocessor_class())
