"""Reader of presets, and of published weights, by name or path, in any supported format."""

import json
import re
from difflib import get_close_matches
from importlib.resources import files
from importlib.util import find_spec
from os import PathLike
from pathlib import Path

from keras_bert.files.given import of_one_version
from keras_bert.files.json_files import JsonFields, read_json
from keras_bert.files.whole import recover
from keras_bert.messages import check_path, shown
from keras_bert.presets.formats.checkpoint import Checkpoint
from keras_bert.presets.formats.hugging_face import read_hugging_face
from keras_bert.presets.formats.tensor_files import ADAPTER, FILES
from keras_bert.presets.preset_folder import PresetFolder

_LIST = files("keras_bert.presets").joinpath("known_presets.json")
KNOWN_PRESETS: dict[str, str] = json.loads(_LIST.read_text(encoding="utf-8"))
"""Descriptions of published weights, by the name that `from_preset` takes."""

# "bert-base-uncased" and "google-bert/bert-base-uncased", as transformers calls them.
_HANDLES = {}
for _handle in KNOWN_PRESETS:
    if _handle.startswith("hf://"):
        _HANDLES[_handle.removeprefix("hf://")] = _handle
        _HANDLES[_handle.rpartition("/")[2]] = _handle


@of_one_version
def read_source(source: str | PathLike) -> Checkpoint | PresetFolder:
    """Reads a model in any supported format; `PresetModel.from_preset` lists the sources."""
    check_path("source", source)
    source = local_source(source)
    handle = str(source)
    path = Path(source)
    if "://" not in handle:
        recover(path)
    if not (path.exists() or _is_prefix(path)):
        if not (handle.startswith("kaggle://") or _is_preset_name(handle)):
            raise ValueError(_not_found(handle))
        from keras_bert.presets.formats.keras_hub import read_keras_hub

        return read_keras_hub(handle)
    if path.is_file() and not _is_prefix(path):
        raise ValueError(
            f"{path} is a file: pass its folder or, of several TF1 checkpoints in a folder, the "
            "prefix of one, without .index or .data-*. Load a .keras file with "
            "keras.saving.load_model, after import keras_bert."
        )
    if not path.is_dir() or _is_google(path):
        from keras_bert.presets.formats.google import read_google

        return read_google(path)
    config = read_json(path / "config.json")
    if "class" in config:
        return PresetFolder(path, config)
    if "registered_name" in config:
        from keras_bert.presets.formats.keras_hub import read_keras_hub

        return read_keras_hub(path)
    if (path / ADAPTER).is_file() and not _has_weights(path):
        base = JsonFields(path / ADAPTER).text("base_model_name_or_path", "?")
        is_known = Path(base).is_dir() or base in _HANDLES
        return read_hugging_face(Path(local_source(base if is_known else f"hf://{base}")), path)
    if config or (path / "modules.json").is_file():
        return read_hugging_face(path)
    names = sorted(entry.name for entry in path.iterdir())
    raise ValueError(
        f"{path} holds no BERT in a supported format: neither config.json (keras_bert, Hugging "
        "Face, KerasHub) nor bert_config.json and bert_model.ckpt.* (Google). Found: "
        f"{shown(names, 400)}.{_folder_hint(path, names)}"
    )


def local_source(source: str | PathLike, weights: bool = True) -> str | PathLike:
    """Downloads a source of the Hugging Face hub, or only its small files; returns its folder.

    Other sources are returned as they are.
    """
    handle = str(source)
    if not Path(source).exists():
        handle = _HANDLES.get(handle, handle)
    if not handle.startswith("hf://"):
        return source
    from keras_bert.presets.hub import download

    return download(handle, weights)


def published_name(source: str | PathLike) -> str | None:
    """Returns the name of a source that was loaded from a hub; None for a local one."""
    path = Path(source)
    if path.exists() or _is_prefix(path):
        return None
    return _HANDLES.get(str(source), str(source))


def _is_preset_name(handle):
    if not re.fullmatch(r"[\w.]+", handle):
        return False
    if handle not in KNOWN_PRESETS and find_spec("keras_hub") is None:
        return False
    from keras_bert.presets.formats.keras_hub import keras_hub

    return handle in keras_hub.models.BertBackbone.presets


def _is_google(path):
    """Returns whether a folder is in Google's format; Hugging Face weights take precedence."""
    if (path / "config.json").is_file() and _has_weights(path):
        return False
    return (path / "bert_config.json").is_file() or any(path.glob("*.index"))


def _has_weights(path):
    return any((path / name).is_file() for name in FILES)


def _is_prefix(path):
    return path.with_name(f"{path.name}.index").is_file()


def _folder_hint(path, names):
    for name in ("best", "preset"):  # in the output of a recipe
        if (path / name / "config.json").is_file():
            return f" Did you mean {str(path / name)!r}?"
    if {"saved_model.pb", "model.onnx", "model.tflite", "model.xml"}.isdisjoint(names):
        return ""
    return " An exported model can't be loaded: pass the preset or checkpoint it was made from."


def _not_found(handle):
    hint = ""
    if handle.count("/") == 1 and not handle.startswith((".", "/")):
        hint = f" A model of the Hugging Face hub is written hf://{handle}."
    checkpoints = sorted(file.stem for file in Path(handle).parent.glob("*.index"))
    if checkpoints:
        hint = f" The folder has the checkpoints {', '.join(checkpoints)}."
    for similar in get_close_matches(handle, [*_HANDLES, *KNOWN_PRESETS], 1, cutoff=0.8):
        hint = f" Did you mean {_HANDLES.get(similar, similar)!r}?"
    return (
        f"{handle!r} is neither a folder nor the name of a KerasHub preset of BERT.{hint} Pass a "
        "folder, hf://user/name, kaggle://... or a name such as bert_base_en_uncased."
    )
