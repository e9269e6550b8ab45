"""Loads tokenizers without the weights of their models."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from keras_bert.files.json_files import read_json
from keras_bert.presets.formats.hugging_face_tokenizer import read_tokenizer
from keras_bert.presets.formats.read_source import local_source
from keras_bert.presets.formats.sentence_transformers import read_sentence_transformer
from keras_bert.presets.preset import load_preprocessor

if TYPE_CHECKING:  # needs TensorFlow Text
    from keras_bert.text.tokenizer import BertTokenizer


def load_tokenizer(source: str | os.PathLike, lowercase: bool | None = None) -> "BertTokenizer":
    """Loads the tokenizer of a preset, of published weights, or of a vocab.txt.

    For a model of the Hugging Face hub, only the small files are downloaded.

    Args:
        source: any source that `BertTask.from_preset` accepts, or a vocab.txt, local or remote.
        lowercase: bool; overrides the source's casing if it is missing or wrong. A vocab.txt has
            no casing, and None means True for it.

    Returns:
        The `BertTokenizer`.

    Raises:
        ValueError: if the source is unknown, has no vocabulary, or has another kind of tokenizer.

    Example:
    >>> import pathlib, tempfile
    >>> from keras_bert import load_tokenizer
    >>> path = pathlib.Path(tempfile.mkdtemp(), "vocab.txt")
    >>> _ = path.write_text("[PAD] [UNK] [CLS] [SEP] [MASK] so".replace(" ", chr(10)))
    >>> load_tokenizer(path, lowercase=False)
    BertTokenizer(6 tokens, lowercase=False)
    """
    from keras_bert.text.tokenizer import BertTokenizer

    if str(source).endswith(".txt"):
        return BertTokenizer(source, lowercase=lowercase is not False)
    path = Path(local_source(source, weights=False))
    if not _is_hugging_face(path):
        source = path if (path / "preprocessor.json").is_file() else source
        return load_preprocessor(source, lowercase=lowercase).tokenizer
    sentences = read_sentence_transformer(path)
    vocabulary, settings, _ = read_tokenizer(sentences.transformer)
    if not vocabulary:
        raise ValueError(f"{source} has no vocabulary, so text can't be read as its model does.")
    if lowercase is not None:
        settings["lowercase"] = lowercase
    if sentences.lowercases and not settings["lowercase"]:
        raise ValueError(f"{source} lowercases text, but has a cased vocabulary.")
    return BertTokenizer(vocabulary, **settings)


def _is_hugging_face(path):
    """Returns whether a folder's tokenizer is in Hugging Face's format, with weights or without."""
    config = read_json(path / "config.json") if path.is_dir() else {}
    if config:
        return "class" not in config and "registered_name" not in config
    names = ("modules.json", "tokenizer_config.json", "tokenizer.json")
    return any((path / name).is_file() for name in names)
