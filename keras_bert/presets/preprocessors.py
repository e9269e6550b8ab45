"""Preprocessors and tokenizers of any source, with settings that the caller changes."""

import os
from pathlib import Path
from typing import Any

from keras_bert.files.json_files import read_json
from keras_bert.messages import logger
from keras_bert.presets.formats.checkpoint import Checkpoint, explained
from keras_bert.presets.formats.hugging_face_tokenizer import read_tokenizer
from keras_bert.presets.formats.sentence_transformers import read_sentence_transformer
from keras_bert.presets.preset_arguments import check_known
from keras_bert.presets.preset_folder import PresetFolder
from keras_bert.presets.read_source import local_source, read_source
from keras_bert.saved import with_objects
from keras_bert.text.base_tokenizer import tokenizer_class


def load_preprocessor(cls: type, source: str | os.PathLike, settings: dict[str, Any]) -> Any:
    """Loads the preprocessor of a source, as `BertPreprocessor.from_preset` does."""
    lowercase = settings.pop("lowercase", None)
    preprocessor = preprocessor_from(read_source(source), cls, None, settings, lowercase)
    return _with_vocabulary(preprocessor, source)


def load_tokenizer(cls: type, source: str | os.PathLike, lowercase: bool | None = None) -> Any:
    """Loads the tokenizer of a source, as `BertTokenizer.from_preset` does.

    For a model of the Hugging Face hub, only the small files are downloaded, unless the format is
    KerasHub's or Google's.
    """
    if str(source).endswith(".txt") and issubclass(cls, tokenizer_class({})):
        return cls(source, lowercase=lowercase is not False)
    path = Path(local_source(source, weights=False))
    config = read_json(path / "config.json")
    names = ("modules.json", "tokenizer_config.json", "tokenizer.json")
    is_hugging_face = bool(config) or any((path / name).is_file() for name in names)
    if is_hugging_face and "class" not in config and "registered_name" not in config:
        sentences = read_sentence_transformer(path)
        lowercases = sentences.lowercases and lowercase is None
        arguments, *_ = read_tokenizer(sentences.transformer, lowercases=lowercases)
    else:
        source = read_source(path if "class" in config else source)  # others need the weights
        arguments, _ = source.text()
    arguments = _with_casing(_with_vocabulary(arguments, source), lowercase, source)
    source_class = tokenizer_class(arguments)
    if issubclass(source_class, cls):
        cls = source_class
    elif not issubclass(cls, source_class):
        name = source_class.__name__
        raise ValueError(f"{source} has the vocabulary of a {name}, not a {cls.__name__}.")
    with explained(source):
        return cls(**arguments)


def _with_vocabulary(part, source):
    if not part:
        raise ValueError(f"{source} has no vocabulary, so text can't be read as its model does.")
    return part


def preprocessor_from(
    source: PresetFolder | Checkpoint,
    cls: type,
    given: Any,
    settings: dict[str, Any],
    lowercase: bool | None,
    is_same_task: bool = True,
    num_classes: int | None = None,
) -> Any:
    """Makes a preprocessor for a loaded model, or returns None if there is no vocabulary.

    Its class is `cls`, or the source's if that is a subclass. `settings` are the caller's. The
    source's settings for labels and answers are taken over only if `is_same_task`.
    """
    if isinstance(given, cls):
        check_known(type(given), settings, type(given).arguments())
        return type(given).like(given, **settings) if settings else given
    source_class, values = source.settings
    if is_same_task and issubclass(source_class, cls):
        cls = source_class
    check_known(cls, settings, cls.arguments())
    saved = {}
    known = values if isinstance(source, PresetFolder) else source_class.arguments()
    for name in known:
        others = ("class", "tokenizer", "sequence_length", "truncation")
        if name in values and name not in others:
            saved[name] = values[name]
    saved = with_objects(saved)
    if is_same_task and issubclass(cls, source_class):
        _warn_of_order(saved.get("label_names"), settings.get("label_names"), source)
        if num_classes not in (None, len(saved.get("label_names") or [])):
            saved.pop("label_names", None)
        settings = {**saved, **settings}
    if given is not None:
        with explained(source):
            return cls.like(given, **settings)
    tokenizer, text = source.text()
    if not tokenizer:
        if saved:
            logger.warning(
                "%s has no vocabulary, so its preprocessor's settings were left out: %s. Give "
                "preprocessor=BertPreprocessor(tokenizer) to keep them.",
                source,
                ", ".join(f"{name}={value!r}" for name, value in saved.items()),
            )
        return None
    tokenizer = _with_casing(tokenizer, lowercase, source)
    if not (is_same_task or "sequence_length" in settings):
        _warn_of_length(source, text.get("sequence_length"))
    with explained(source):
        tokenizer = (cls.tokenizer_class or tokenizer_class(tokenizer))(**tokenizer)
        return cls(tokenizer, **{**text, **settings})


def _warn_of_length(source, length):
    """Warns if a preset's model was trained on shorter sequences than it can read."""
    if length and isinstance(source, PresetFolder):
        longest = source.backbone_config.value("max_sequence_length", 0)
        if length < longest:
            logger.warning(
                "%s was trained on sequences of %s tokens, and longer texts are truncated to them: "
                "pass sequence_length, up to %s, to read more.",
                source,
                length,
                longest,
            )


def _warn_of_order(saved, given, source):
    saved = list(saved or [])
    given = list(given or [])
    if saved != given and sorted(saved) == sorted(given):
        logger.warning(
            "%s was trained with label_names=%s; in the order %s its classes exchange their names. "
            "Leave label_names out, or train the model before you use its answers.",
            source,
            saved,
            given,
        )


def _with_casing(tokenizer, lowercase, source):
    if lowercase is None:
        return tokenizer
    if "lowercase" not in tokenizer:
        raise ValueError(f"The vocabulary of {source} has its own casing: leave lowercase out.")
    return {**tokenizer, "lowercase": lowercase}
