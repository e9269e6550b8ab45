"""Model cards: the `README.md` of a saved model, which the Hugging Face Hub shows as its page.

Metadata: https://huggingface.co/docs/hub/model-cards.
"""

import dataclasses
import math
import ntpath
import numbers
import os
import re
from pathlib import Path
from typing import Any

import keras

import keras_bert
from keras_bert.files.json_files import read_json
from keras_bert.files.new_folder import CARD_MARK, README
from keras_bert.files.whole import whole_file
from keras_bert.messages import shortened
from keras_bert.presets.preset_arguments import shared_arguments

FOLDER = "path/to/this/folder"
"""The source that a folder's card loads from; on the hub, it is the model's handle."""
_JOINERS = "\u200c\u200d"  # invisible, but part of words in Persian and Indic scripts


@dataclasses.dataclass
class Card:
    """The settings and scores that a model card shows; see `PresetModel.save_to_preset`."""

    settings: dict[str, Any] | None
    scores: dict[str, dict[str, float]] | None

    def __post_init__(self):
        self.settings = self.settings or {}
        self.scores = self.scores or {}
        if not isinstance(self.settings, dict):
            raise ValueError(
                f"settings must be a dict, such as {{'epochs': 3}}; got {self.settings!r}"
            )
        is_dict = isinstance(self.scores, dict)
        if not is_dict or not all(isinstance(values, dict) for values in self.scores.values()):
            raise ValueError(
                "scores must be a dict of dicts, such as {'dev': {'accuracy': 0.91}}; got "
                f"{self.scores}"
            )


def write_card(
    model: keras.Model, folder: Path, card: Card, has_hugging_face: bool = False
) -> None:
    """Writes the model card of a model to the new folder that it was saved to."""
    encoder = code(_architecture(model) or type(model.backbone).__name__)
    sections = [
        f"---\n{_metadata(model, has_hugging_face).to_yaml()}\n---",
        f"# {type(model).__name__}",
        f"A model that {model.published.purpose}, with the encoder {encoder}. Saved by keras_bert "
        f"{keras_bert.__version__}.",
        "## Model",
        "\n".join(_facts(model)),
        *_training(model.backbone.published_source, card.settings, card.scores),
        "## Use",
    ]
    if has_hugging_face:
        sections.append(_python(_their_lines(model, folder)))
        sections.append("With keras_bert (`pip install keras3-bert`):")
    sections.append(_python(_our_lines(model)))
    sections.append(CARD_MARK)
    with whole_file(folder / README) as file:
        file.write("\n\n".join(sections) + "\n")


def code(value: object) -> str:
    r"""Returns a value as a Markdown code span on one line, whatever characters it has.

    Line breaks, control characters and marks that reverse the order of text become spaces.

    Example:
    >>> print(code("not_<b>\n|entailed|"), code("a`b"))
    `not_<b> |entailed|` `a'b`
    """
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(str, value))
    elif isinstance(value, float):
        value = f"{value:.6g}"
    text = "".join(c if c.isprintable() or c in _JOINERS else " " for c in str(value))
    text = shortened(text.strip(), 400).replace("`", "'") or '""'
    return f"`{text}`"


def _is_ours(cls):
    return cls.__module__.startswith("keras_bert.")


def _architecture(model):
    """Returns the architecture in transformers; None for a backbone of a user's own class."""
    backbone = model.backbone
    return backbone.architecture if _is_ours(type(backbone)) else None


def _metadata(model, has_hugging_face):
    from huggingface_hub import ModelCardData

    library = "keras_bert"
    if has_hugging_face:
        library = "sentence-transformers" if model.published.wrapper else "transformers"
    tags = [_architecture(model), "keras", "keras_bert"]
    base = re.fullmatch(r"hf://([\w.-]+/[\w.-]+)(@.+)?", model.backbone.published_source or "")
    return ModelCardData(
        library_name=library,
        pipeline_tag=model.published.pipeline,
        tags=[tag for tag in tags if tag is not None],
        base_model=base and base[1],
    )


def _facts(model):
    facts = {"parameters": model.count_params()}
    facts |= shared_arguments({**model.backbone.get_config(), **model.get_config()})
    preprocessor = model.preprocessor
    if preprocessor is not None:
        facts |= {**preprocessor.tokenizer.get_config(), **preprocessor.get_config()}
    for name in ("backbone", "preprocessor", "tokenizer", "vocabulary"):
        facts.pop(name, None)
    return _listed({n: value for n, value in facts.items() if value not in (None, False, [], {})})


def _training(source, settings, scores):
    settings = {name: _plain(value) for name, value in settings.items() if value is not None}
    if source is not None or settings:
        yield "## Training"
    if source is not None:
        yield f"Training started from the weights of {code(source)}."
    if settings:
        yield "\n".join(_listed(settings))
    if scores:
        yield "## Scores"
    for name, values in scores.items():
        yield f"On {code(name)}:"
        lines = []
        for score, value in values.items():
            if isinstance(value, numbers.Real) and math.isfinite(value):
                lines.append(f"- {code(score)}: {value:.4g}")
        yield "\n".join(lines)


def _plain(value):
    """Returns a setting as a number or a string; a path without its folders: cards are public."""
    if isinstance(value, numbers.Real):
        return value if isinstance(value, numbers.Integral) else float(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(str(_plain(item)) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(item)}" for key, item in value.items())
    if not isinstance(value, (str, os.PathLike, type(None))):
        return type(value).__name__
    text = str(value)
    is_path = "://" in text or text.startswith("~") or ntpath.isabs(text) or os.path.isabs(text)
    return ntpath.basename(text.rstrip("/\\")) if is_path else text


def _our_lines(model):
    public = next(cls for cls in type(model).__mro__ if _is_ours(cls))
    load = f'model = keras_bert.{public.__name__}.from_preset("{FOLDER}")'
    lines = ["import keras_bert", "", load]
    for cls in {type(model), type(model.backbone)}:
        if not _is_ours(cls):
            lines[0] += f"  # and the module of {cls.__name__}"
    if model.published.example and model.preprocessor is not None:
        lines.append(f"print(model.{model.published.example})")
    return lines


def _their_lines(model, folder):
    if model.published.wrapper:
        load = f'model = {model.published.wrapper}("{FOLDER}")'
        return [f"from sentence_transformers import {model.published.wrapper}", "", load]
    [their_class] = read_json(folder / "config.json")["architectures"]
    load = f'model = {their_class}.from_pretrained("{FOLDER}")'
    if not (folder / "tokenizer_config.json").is_file():
        return [f"from transformers import {their_class}", "", load]
    tokenizer = f'tokenizer = AutoTokenizer.from_pretrained("{FOLDER}")'
    return [f"from transformers import AutoTokenizer, {their_class}", "", tokenizer, load]


def _python(lines):
    return "\n".join(["```python", *lines, "```"])


def _listed(values):
    return [f"- {code(name)}: {code(value)}" for name, value in values.items()]
