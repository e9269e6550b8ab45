"""Loading of models from saved or published weights."""

import inspect
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import keras

from keras_bert.preprocessing.labels import as_label_names
from keras_bert.presets import preset_arguments
from keras_bert.presets.formats.checkpoint import public_class
from keras_bert.presets.hub import push_to_hub
from keras_bert.presets.load_model import LoadReport, load_checkpoint, load_preset
from keras_bert.presets.loading_arguments import LoadingArguments
from keras_bert.presets.model_card import Card
from keras_bert.presets.preprocessors import preprocessor_from
from keras_bert.presets.preset_folder import PresetFolder
from keras_bert.presets.published import Published
from keras_bert.presets.read_source import KNOWN_PRESETS, published_name, read_source
from keras_bert.presets.save_model import save_hugging_face, save_preset
from keras_bert.saved import record_arguments
from keras_bert.training.keras_internals import all_layers

if TYPE_CHECKING:
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor

Model = TypeVar("Model")  # jedi takes `Self` for the class of the method


class PresetModel:
    """Loading and saving, for the backbone and the tasks."""

    presets = KNOWN_PRESETS  # {name of published weights: description}
    load_report: LoadReport | None = None  # of the preset that it was loaded from
    published = Published()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        record_arguments(cls, PresetModel)

    if not TYPE_CHECKING:  # for which a class with __getattr__ has every attribute

        def __getattr__(self, name):
            if hasattr(self.__dict__.get("_preprocessor"), name):
                ours = f"write model.preprocessor.{name}"
                raise AttributeError(f"{type(self).__name__} has no {name}: {ours}.")
            return getattr(super(), "__getattr__", super().__getattribute__)(name)

    def __new__(cls, *args, **kwargs):
        if kwargs:  # Keras calls this without any while it changes the bases of the class
            preset_arguments.check_constructor(cls, args, kwargs)
        return super().__new__(cls, *args, **kwargs)

    @classmethod
    def preprocessor_class(cls) -> "type[BertPreprocessor] | None":
        """Returns the class of preprocessor that reads this task's examples; None for encoders."""
        return None

    def save_to_preset(
        self,
        folder: str | os.PathLike,
        settings: dict[str, Any] | None = None,
        scores: dict[str, dict[str, float]] | None = None,
    ) -> None:
        """Writes a folder from which `from_preset` loads this model.

        It holds `config.json`, `model.weights.h5`, for a preprocessor `preprocessor.json` and
        `vocab.txt`, their `checksums.json`, and a model card (a `README.md` that a person edited is
        kept). The folder is written atomically. If several processes train together, all call this
        method.

        Args:
            folder: a path; an earlier preset there is replaced.
            settings: dict of the training's settings, which the model card shows. Absolute paths
                are shortened to their last part, because cards are public.
            scores: scores that the card shows, `{name of the examples: {name: number}}`.

        Raises:
            ValueError: if the folder holds something that is not a preset; or if the model couldn't
                be loaded again: a class isn't registered, or a config lacks an argument.
        """
        save_preset(self, folder, Card(settings, scores))

    def save_to_hugging_face(
        self,
        folder: str | os.PathLike,
        settings: dict[str, Any] | None = None,
        scores: dict[str, dict[str, float]] | None = None,
    ) -> None:
        """Writes this model as a folder that Hugging Face's transformers loads.

        It holds `config.json`, `model.safetensors`, a model card, and the tokenizer of a model with
        a preprocessor. A `BertEmbedder` becomes a sentence-transformers folder, a `BertReranker`
        one of a `CrossEncoder`. LoRA is merged. The folder is written atomically.

        Args:
            folder: a path; an earlier model there is replaced.
            settings: same as for `save_to_preset`.
            scores: same as for `save_to_preset`.

        Raises:
            ValueError: if none of transformers' encoders that this library loads can hold the
                model, or the folder holds anything else.

        Example:
        >>> import tempfile
        >>> from keras_bert import BertBackbone, BertClassifier, sizes
        >>> model = BertClassifier(BertBackbone(vocabulary_size=100, **sizes.tiny), num_classes=2)
        >>> folder = tempfile.mkdtemp()
        >>> model.save_to_hugging_face(folder)
        >>> BertClassifier.from_preset(folder).num_classes
        2
        """
        save_hugging_face(self, folder, Card(settings, scores))

    def push_to_hub(
        self,
        name: str,
        settings: dict[str, Any] | None = None,
        scores: dict[str, dict[str, float]] | None = None,
        **options: Any,
    ) -> str:
        """Uploads this model to the Hugging Face Hub, as a preset with a model card, in one commit.

        The model is created on the hub if it isn't there. Files of an earlier model there are
        replaced or removed; a card that keras_bert didn't write is kept. If several processes train
        together, all call this method.

        Args:
            name: `"user/name"` or `"organization/name"`.
            settings: same as for `save_to_preset`.
            scores: same as for `save_to_preset`.
            **options: `private`, a bool for a new model, by default as set on the hub; `token`, by
                default `HF_TOKEN` or that of `hf auth login`; and `commit_message`.

        Returns:
            The handle of the uploaded version for `from_preset`, `"hf://user/name@commit"`.

        Raises:
            ValueError: if the name is invalid, or the hub refuses or can't be reached.
        """
        return push_to_hub(self, name, settings, scores, **options)

    @classmethod
    def from_preset(
        cls: type[Model],
        source: str | os.PathLike,
        *,
        preprocessor: "BertPreprocessor | None" = None,
        lowercase: bool | None = None,
        load_weights: bool = True,
        keep_layers: Sequence[int] | None = None,
        **arguments: Unpack[LoadingArguments],
    ) -> Model:
        """Loads a model of this class from saved or published weights.

        A source with this class or a subclass gives that model. Arguments given here replace the
        saved ones, and weights that no longer fit are newly initialized. From any other source,
        only the backbone and the text settings are loaded, and the head is new. New weights are
        logged; `print(model.load_report)` lists every weight. `BertTask.from_preset` takes the
        class from the source; a source with only an encoder becomes a `BertEmbedder`. DistilBERT
        (Sanh et al. 2019) and ELECTRA (Clark et al. 2020) are loaded from Hugging Face's format; of
        an ELECTRA discriminator, the encoder.

        Args:
            source: a folder of this library, Hugging Face, sentence-transformers, KerasHub, or
                Google's TF1 code (or the prefix of its checkpoint); `hf://user/name`, or
                `hf://user/name@revision`; `kaggle://...`; or a name of KerasHub or transformers,
                such as `"bert_base_en_uncased"` or `"bert-base-uncased"`. `presets` lists some.
            preprocessor: a preprocessor to use in place of the source's.
            lowercase: bool for the tokenizer, if the source's casing is missing or wrong.
            load_weights: bool; False keeps the source's shape, vocabulary and casing but draws
                random weights, for example to measure the effect of pre-training.
            keep_layers: ascending ints, numbers of the source's encoder blocks from 0. The model
                has only these, in this order, numbered from 0: `(0, 2, 4)` makes a model of three
                layers of one of six, a start for distillation (Sanh et al. 2019, section 3).
            **arguments: arguments of the class, such as `num_classes`, and of its preprocessor,
                such as `sequence_length`, `truncation` or `label_names`, which also set
                `num_classes`. `dtype` is that of the entire model.

        Returns:
            The model, not compiled.

        Raises:
            ValueError: if the source is none of these, can't be reached or has no supported
                architecture; if a file is missing, damaged, or a link out of its folder; if an
                argument is unknown, or missing in the source and the call; if the source lacks a
                layer of `keep_layers`; or if `dtype` quantizes one.
        """
        preset_arguments.check_loads(arguments.get("dtype"))
        if cls.__name__ != "BertTask":  # before anything is downloaded
            preset_arguments.check_arguments(cls, arguments)
        given = source
        source = read_source(given)
        model_class = _class_for(cls, source, arguments)
        preset_arguments.check_arguments(model_class, arguments)
        if keep_layers is not None:
            source = source.with_layers(keep_layers)
        trainable = arguments.pop("trainable", True)
        load = load_preset
        if not isinstance(source, PresetFolder):
            load = load_checkpoint
            source = source.as_task(model_class)
        arguments, settings = preset_arguments.split_arguments(model_class, arguments)
        takes_classes = "num_classes" in inspect.signature(model_class.__init__).parameters
        if settings.get("label_names") is not None and takes_classes:
            settings["label_names"] = as_label_names(settings["label_names"])
            arguments.setdefault("num_classes", len(settings["label_names"]))
        preprocessor_class = model_class.preprocessor_class()
        if preprocessor_class is not None:
            for name, value in [*settings.items()]:
                if value is None and getattr(preprocessor_class, name, 0) is not None:
                    del settings[name]  # None stands for the source's setting, unless it is one
            preprocessor = preprocessor_from(
                source,
                preprocessor_class,
                preprocessor,
                settings,
                lowercase,
                is_same_task=issubclass(model_class, source.model_class),
                num_classes=arguments.get("num_classes"),
            )
        model = load(model_class, source, preprocessor, arguments)
        if not load_weights:
            model = _with_random_weights(model)
        if keras.backend.backend() == "torch":
            for layer in all_layers(model):
                layer.named_parameters()  # fills `state_dict`; layers made without values are not
        if not trainable:  # TensorFlow never trains a variable that was frozen when it was made
            model.trainable = False
        if not load_weights:
            return model
        name = published_name(given)
        if name is not None:  # not the folder of the cache
            model.load_report.source = name
        unused = set()
        if model.backbone is not model:
            unused = {variable.path for variable in model.backbone.unused_by(model.reads)}
        model.backbone.published_source = name or source.published_source
        model.load_report.log(unused)
        return model


def _class_for(cls, source, arguments):
    """Returns the source's class if it is a subclass or `cls` is `BertTask`, else `cls`."""
    for source_class in (source.model_class, source.backbone_class):
        if issubclass(source_class, cls):
            cls = source_class
            break
    if cls.__name__ == "BertTask":
        cls = public_class("BertEmbedder")
    if cls in source.refused and "pooling" not in arguments:
        raise ValueError(source.refused[cls])
    return cls


def _with_random_weights(model):
    config = preset_arguments.shared_arguments(model.get_config())
    if model.backbone is not model:
        config["backbone"] = _with_random_weights(model.backbone)
        config["preprocessor"] = model.preprocessor
    fresh = type(model)(**config)
    new = {weight.path: tuple(weight.shape) for weight in fresh.weights}
    fresh.load_report = LoadReport("random weights", new=new)
    return fresh
