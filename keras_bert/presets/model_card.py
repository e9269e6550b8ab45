"""Model cards: the `README.md` of a saved model, which the Hugging Face Hub shows as its page.

Metadata: https://huggingface.co/docs/hub/model-cards.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import keras

import keras_bert
from keras_bert.files.json_files import read_json
from keras_bert.files.new_folder import README
from keras_bert.files.signed_text import signed, unsigned
from keras_bert.files.whole import whole_file
from keras_bert.presets.markdown_text import code, front_matter
from keras_bert.training.training_record import training_of

FOLDER = "path/to/this/folder"  # in the card of a folder; `hub_card` replaces it
MOST_LABELS = 50


class _Kind(NamedTuple):
    pipeline: str
    task: str  # continues "A BERT that"
    example: str = ""


_KINDS = {
    "BertPretrainer": _Kind(
        "fill-mask",
        "predicts masked words, and whether two sentences follow each other",
        'print(model.fill_mask("Paris is the [MASK] of France.", top_k=3))',
    ),
    "BertClassifier": _Kind(
        "text-classification", "classifies texts", 'print(model.answer("What a book!"))'
    ),
    "BertTokenClassifier": _Kind(
        "token-classification", "labels words", 'print(model.answer("Ada Lovelace wrote it."))'
    ),
    "BertSpanLabeler": _Kind(
        "question-answering",
        "finds the answer to a question in a text",
        'print(model.answer({"question": "Who wrote it?", "context": "Ada wrote it."}))',
    ),
    "BertMultipleChoice": _Kind(
        "multiple-choice",
        "chooses one of several answers",
        'print(model.answer({"context": "It rains.", "choices": ["I fly.", "I get wet."]}))',
    ),
    "BertEmbedder": _Kind(
        "sentence-similarity",
        "turns texts into vectors",
        'print(model.similarity(["a fine book"], ["a dull book", "a day"]))',
    ),
    "BertReranker": _Kind(
        "text-ranking",
        "scores documents for a query",
        'print(model.rank("Who wrote it?", ["a dull book", "Ada did"]))',
    ),
    "BertBackbone": _Kind("feature-extraction", "encodes texts, a vector for each token"),
}
_THEIR_WRAPPERS = {"BertEmbedder": "SentenceTransformer", "BertReranker": "CrossEncoder"}


def write_card(model: keras.Model, folder: Path, has_hugging_face: bool = False) -> None:
    """Writes the model card of a model to the folder that it was saved to.

    Args:
        model: a `BertBackbone`, or any task with one.
        folder: the `Path` of a new folder with the other files.
        has_hugging_face: whether the folder is one for transformers.
    """
    training = training_of(model)
    kind = _kind_of(model)
    parts = [
        front_matter(_metadata(model, kind, training, has_hugging_face)),
        _title(model, kind),
        "## Model\n\n" + "\n".join(_facts(model, kind)),
        _training(training),
        _scores(training),
        _use(model, kind, folder if has_hugging_face else None),
    ]
    with whole_file(folder / README) as file:
        file.write(signed("\n\n".join(part for part in parts if part)))


def hub_card(text: str, name: str) -> str | None:
    """Returns a card as the page of a hub's model; None if somebody wrote or edited it.

    Args:
        text: the card of a folder.
        name: `user/name` on the hub.
    """
    own = unsigned(text)
    if own is None:
        return None
    own = own.replace(f'from_preset("{FOLDER}")', f'from_preset("hf://{name}")')
    return signed(own.replace(f'("{FOLDER}")', f'("{name}")'))


def _kind_of(model):
    """Returns the name of this library's class that a model is, or `BertTask`."""
    names = (cls.__name__ for cls in type(model).__mro__ if _is_ours(cls))
    return next((name for name in names if name in _KINDS), "BertTask")


def _is_ours(cls):
    return cls.__module__.startswith("keras_bert.")


def _metadata(model, kind, training, has_hugging_face):
    library = "keras_bert"
    if has_hugging_face:
        library = "sentence-transformers" if kind in _THEIR_WRAPPERS else "transformers"
    fields = {"library_name": library}
    if kind in _KINDS:
        causal = kind == "BertPretrainer" and model.backbone.causal
        fields["pipeline_tag"] = "text-generation" if causal else _KINDS[kind].pipeline
    fields["tags"] = ["bert", "keras", "keras_bert"]
    found = re.fullmatch(r"hf://([\w.-]+/[\w.-]+)(@.+)?", training.get("source", ""))
    if found:
        fields["base_model"] = found[1]
    return fields


def _title(model, kind):
    size = getattr(model, "backbone", model)
    task = f" that {_task(model, kind)}" if kind in _KINDS else " with a task of its own"
    return (
        f"# {type(model).__name__}, {_counted(size.num_layers, 'layer')}\n\n"
        f"A BERT{task}. Saved by keras_bert {keras_bert.__version__}."
    )


def _task(model, kind):
    if kind == "BertPretrainer" and model.backbone.causal:
        return "predicts each next word"
    if kind == "BertPretrainer" and not getattr(model, "next_sentence", True):
        return "predicts masked words"
    return _KINDS[kind].task


def _facts(model, kind):
    """Lists sizes, vocabulary, sequence length and labels, as lines of Markdown."""
    encoder, reader = getattr(model, "backbone", model), getattr(model, "preprocessor", None)
    if kind in _KINDS:
        yield f"- Task: {_KINDS[kind].pipeline}"
    yield f"- Parameters: {model.count_params():,}"
    size = f"- Size: {_counted(encoder.num_layers, 'layer')}, hidden {encoder.hidden_dim}"
    if encoder.architecture == "bert":
        heads = _counted(encoder.num_heads, "head")
        size += f", {heads}, feed-forward {encoder.intermediate_dim}"
    yield size
    if reader is None:
        yield f"- Vocabulary: {encoder.vocabulary_size:,} tokens"
        yield f"- Sequence length: at most {encoder.max_sequence_length} tokens"
    else:
        casing = "lowercased" if reader.tokenizer.lowercase else "cased"
        yield f"- Vocabulary: {reader.tokenizer.vocabulary_size():,} tokens, {casing}"
        yield (
            f"- Sequence length: {reader.sequence_length} tokens (at most "
            f"{encoder.max_sequence_length})"
        )
    if model.dtype_policy.name != "float32":
        yield f"- Precision: {code(model.dtype_policy.name)}"
    yield from _labels(model, reader)
    if kind == "BertEmbedder":
        shape = model.output_shape  # of a user's own class, maybe a dict
        width = f"{shape[-1]} numbers, " if isinstance(shape, tuple) else ""
        length = ", of length 1" if model.normalize else ""
        yield f"- Vectors: {width}pooling {code(model.pooling)}{length}"
        for name, prompt in (getattr(reader, "prompts", None) or {}).items():
            yield f"- Prompt {code(name)}: {code(prompt)}"


def _labels(model, reader):
    names = getattr(reader, "label_names", None)
    number = len(names) if names else getattr(model, "num_classes", None)
    if number is None:
        return
    if number == 1:
        yield "- Output: a number (regression)"
    elif not names:
        yield f"- Labels: {number:,} classes without names"
    else:
        kinds = ", any number of them" if getattr(reader, "multi_label", False) else ""
        more = f" and {number - MOST_LABELS:,} more" if number > MOST_LABELS else ""
        shown = ", ".join(code(name, 80) for name in names[:MOST_LABELS])
        yield f"- Labels ({number:,}{kinds}): {shown}{more}"


def _training(training):
    """Returns the section on the source of the weights, and on each training run."""
    lines = []
    if "source" in training:
        lines.append(f"Training started from the weights of {code(training['source'])}.")
    for number, run in enumerate(training.get("runs", [])):
        lines.append(f"{'Then trained' if number else 'Trained'} as a {code(run['task'])}:")
        lines.append("\n".join(f"- {code(n)}: {_value(v)}" for n, v in run["settings"].items()))
    return "\n\n".join(["## Training", *filter(None, lines)]) if lines else ""


def _scores(training):
    """Returns the section of scores, a list for each set of examples."""
    parts = []
    for name, scores in training.get("scores", {}).items():
        parts.append(f"On {code(name)}:")
        parts.append("\n".join(f"- {code(score)}: {v:.4g}" for score, v in scores.items()))
    return "\n\n".join(["## Scores", *parts]) if parts else ""


def _use(model, kind, hugging_face):
    """Returns the section with the Python that loads the model."""
    is_own_class = _is_ours(type(model))
    name = type(model).__name__ if is_own_class else kind
    lines = ["import keras_bert", "", f'model = keras_bert.{name}.from_preset("{FOLDER}")']
    if not is_own_class:
        lines[0] += f"  # and the module that defines {type(model).__name__}"
    has_text = getattr(model, "preprocessor", None) is not None
    causal = kind == "BertPretrainer" and model.backbone.causal
    if has_text and kind in _KINDS and _KINDS[kind].example and not causal:
        lines.append(_KINDS[kind].example)
    ours = "```python\n" + "\n".join(lines) + "\n```"
    if hugging_face is None:
        return f"## Use\n\n{ours}"
    theirs = "\n".join(_their_lines(kind, hugging_face))
    return (
        f"## Use\n\n```python\n{theirs}\n```\n\nWith keras_bert (`pip install keras3-bert`):\n\n"
        f"{ours}"
    )


def _their_lines(kind, folder: Path) -> list[str]:
    """Returns the Python that loads a folder with transformers or sentence-transformers."""
    if kind in _THEIR_WRAPPERS:
        wrapper = _THEIR_WRAPPERS[kind]
        return [
            f"from sentence_transformers import {wrapper}",
            "",
            f'model = {wrapper}("{FOLDER}")',
        ]
    config: dict[str, Any] = read_json(folder / "config.json")
    [architecture] = config["architectures"]
    has_words = (folder / "vocab.txt").is_file()
    names = ["AutoTokenizer", architecture] if has_words else [architecture]
    lines = [f"from transformers import {', '.join(names)}", ""]
    if has_words:
        lines.append(f'tokenizer = AutoTokenizer.from_pretrained("{FOLDER}")')
    return [*lines, f'model = {architecture}.from_pretrained("{FOLDER}")']


def _value(value):
    return code(f"{value:.6g}" if isinstance(value, float) else value)


def _counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"
