"""Where models come from and go to: presets of this library, and the checkpoints of others."""

from pathlib import Path

from keras_bert.presets.formats.read_source import open_source
from keras_bert.presets.load_checkpoint import (
    LoadReport,
    check_vocabulary,
    preprocessor_of,
    with_weights,
)
from keras_bert.presets.preset_arguments import OF_ONE_MODEL, changed_arguments, check_arguments
from keras_bert.presets.preset_folder import (
    CLASSES,
    load_own_preprocessor,
    load_own_preset,
    public_class,
    save_preset,
)


class Presets:
    """Mixed into a model, lets it start from a preset and become one."""

    def save_to_preset(self, folder):
        """Writes `config.json`, `model.weights.h5`, `preprocessor.json` and `vocab.txt`.

        The folder is written whole or not at all. A backbone alone has no preprocessor. Of several
        processes that train together all call this, the first writes, and all find it written.

        Args:
            folder: a path; an earlier preset there is replaced.

        Raises:
            ValueError: if the folder holds something that is not a preset.
        """
        save_preset(self, folder)

    @classmethod
    def from_preset(cls, source, **kwargs):
        """A model of this class that starts from saved or published weights.

        A source that holds this very class gives that model; arguments given here replace those
        that were saved, and weights that no longer fit start anew. From any other source come its
        backbone and preprocessor, under a new head; which weights are new is logged, and
        `load_report` of the model, printed, tells of each. `BertTask.from_preset` takes the class
        from the source; an encoder alone becomes a `BertEmbedder`.

        Args:
            source: a folder that `save_to_preset` wrote; a folder of Hugging Face, of
                sentence-transformers, of KerasHub, or of Google's TF1 code (or the prefix of its
                checkpoint); `hf://user/name`, or `hf://user/name@revision`; `kaggle://...`; or the
                name of a KerasHub preset, such as `"bert_base_en_uncased"`.
            preprocessor: a `BertPreprocessor` to use in place of the source's.
            sequence_length: int, for the source's preprocessor.
            truncation: str, for the same: `"head"`, `"tail"` or `"head_tail"`.
            load_weights: bool; False gives the source's shape, vocabulary and casing with random
                weights, for instance to see what pre-training is worth.
            lowercase: bool, for the tokenizer of a source that doesn't say its casing, or says it
                wrongly.
            **kwargs: arguments of the class, such as `num_classes`.

        Returns:
            The model, not compiled.

        Raises:
            ValueError: if the source is none of these, can't be reached, is no BERT, or if a file
                is missing or is not what it should be; if the class has no such argument, or
                needs one that neither the source nor you give.
        """
        return load_preset(cls, source, **kwargs)


def load_preset(
    cls,
    source,
    *,
    preprocessor=None,
    sequence_length=None,
    truncation=None,
    load_weights=True,
    lowercase=None,
    **arguments,
):
    """A `cls` from `source`: see `Presets.from_preset`."""
    if cls.__name__ != "BertTask":  # before anything is downloaded
        check_arguments(cls, arguments, source)
    source = open_source(source)
    own = isinstance(source, Path)
    reads_text = cls.__name__ != "BertBackbone"
    if preprocessor is None and reads_text:
        find = load_own_preprocessor if own else preprocessor_of
        preprocessor = find(source, sequence_length, lowercase, truncation)
    build = load_own_preset if own else _from_checkpoint
    model = build(cls, source, preprocessor, arguments)
    if not load_weights:
        return _with_random_weights(model)
    model.load_report.say()
    return model


def _with_random_weights(model):
    """A model like this one, initialised anew."""
    config = {name: value for name, value in model.get_config().items() if name not in OF_ONE_MODEL}
    if hasattr(model, "backbone"):
        config["backbone"] = _with_random_weights(model.backbone)
        config["preprocessor"] = model.preprocessor
    anew = type(model)(**config)
    anew.load_report = LoadReport("random weights")
    anew.load_report.new = {weight.path: tuple(weight.shape) for weight in anew.weights}
    return anew


def _from_checkpoint(cls, checkpoint, preprocessor, arguments):
    """A `cls` with the weights of a `Checkpoint`."""
    backbone_class = public_class("BertBackbone")
    if cls.__name__ == "BertTask":
        cls = public_class(checkpoint.task if checkpoint.task in CLASSES else "BertEmbedder")
    if cls.__name__ in checkpoint.refused and "pooling" not in arguments:
        raise ValueError(checkpoint.refused[cls.__name__])
    head_may_differ = bool(arguments)
    if cls is backbone_class:
        check_vocabulary(checkpoint)
        arguments = {**checkpoint.backbone, **arguments}
        return with_weights(checkpoint, lambda: cls(**arguments), head_may_differ)
    saved = checkpoint.task_arguments if cls.__name__ == checkpoint.task else {}
    check_arguments(cls, arguments, checkpoint.source, {"backbone", "preprocessor", *saved})
    arguments = {"preprocessor": preprocessor, **changed_arguments(saved, arguments)}
    return with_weights(
        checkpoint,
        lambda: cls(backbone=backbone_class(**checkpoint.backbone), **arguments),
        head_may_differ,
    )
