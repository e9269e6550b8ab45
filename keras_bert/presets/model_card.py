"""Model cards: the `README.md` of a saved model, which the Hugging Face Hub shows as its page.

Metadata: https://huggingface.co/docs/hub/model-cards.
"""

import re
from pathlib import Path

import keras

import keras_bert
from keras_bert.files.json_files import read_json
from keras_bert.files.new_folder import CARD_MARK, README
from keras_bert.files.whole import whole_file
from keras_bert.messages import shortened
from keras_bert.presets.formats.architectures import architecture_of
from keras_bert.presets.preset_arguments import shared_arguments
from keras_bert.training.training_record import training_of

FOLDER = "path/to/this/folder"  # in the card of a folder; `hub_card` replaces it
_JOINERS = "\u200c\u200d"  # invisible, but part of words in Persian and Indic scripts


# {class: (pipeline of the hub, what continues "A BERT that")}
_KINDS = {
    "BertPretrainer": ("fill-mask", "predicts masked words"),
    "BertClassifier": ("text-classification", "classifies texts"),
    "BertTokenClassifier": ("token-classification", "labels words"),
    "BertSpanLabeler": ("question-answering", "finds the answer to a question in a text"),
    "BertMultipleChoice": ("multiple-choice", "chooses one of several answers"),
    "BertEmbedder": ("sentence-similarity", "turns texts into vectors"),
    "BertReranker": ("text-ranking", "scores documents for a query"),
    "Backbone": ("feature-extraction", "encodes texts, a vector for each token"),
    "BertBackbone": ("feature-extraction", "encodes texts, a vector for each token"),
}
_TITLES = {"bert": "A BERT", "distilbert": "A DistilBERT", "electra": "An ELECTRA"}
_TITLES |= {"xlm-roberta": "An XLM-RoBERTa", "roberta": "A RoBERTa", "camembert": "A CamemBERT"}
_TITLES |= {"mpnet": "An MPNet"}
_CAUSAL = ("text-generation", "predicts each next word")
_EXAMPLES = {
    "BertPretrainer": 'fill_mask("Paris is the [MASK] of France.", top_k=3)',
    "BertClassifier": 'answer("What a book!")',
    "BertTokenClassifier": 'answer("Ada Lovelace wrote it.")',
    "BertSpanLabeler": 'answer({"question": "Who wrote it?", "context": "Ada wrote it."})',
    "BertMultipleChoice": 'answer({"context": "It rains.", "choices": ["I fly.", "I get wet."]})',
    "BertEmbedder": 'similarity(["a fine book"], ["a dull book", "a day"])',
    "BertReranker": 'rank("Who wrote it?", ["a dull book", "Ada did"])',
}
_THEIR_WRAPPERS = {"BertEmbedder": "SentenceTransformer", "BertReranker": "CrossEncoder"}


def write_card(model: keras.Model, folder: Path, has_hugging_face: bool = False) -> None:
    """Writes the model card of a model to the new folder that it was saved to."""
    name = next(cls.__name__ for cls in type(model).__mro__ if _is_ours(cls))
    is_causal = name == "BertPretrainer" and model.backbone.causal
    kinds = {**_KINDS, "BertPretrainer": _CAUSAL} if is_causal else _KINDS
    pipeline, task = kinds.get(name, ("", "has a task of its own"))
    training = training_of(model)
    parts = [
        f"---\n{_metadata(model, name, pipeline, training, has_hugging_face).to_yaml()}\n---",
        f"# {type(model).__name__}",
        f"{_sentence(model, task)} Saved by keras_bert {keras_bert.__version__}.",
        "## Model",
        "\n".join(_facts(model)),
        *_training(training),
        "## Use",
    ]
    if has_hugging_face:
        parts += [_python(*_their_lines(name, folder))]
        parts += ["With keras_bert (`pip install keras3-bert`):"]
    example = None if is_causal else _EXAMPLES.get(name)
    parts += [_python(*_our_lines(model, name, example)), CARD_MARK]
    with whole_file(folder / README) as file:
        file.write("\n\n".join(parts) + "\n")


def hub_card(text: str, name: str) -> str:
    """Returns the card of a folder as that of the model `user/name` on the hub."""
    text = text.replace(f'from_preset("{FOLDER}")', f'from_preset("hf://{name}")')
    return text.replace(f'("{FOLDER}")', f'("{name}")')


def code(value: object, limit: int = 400) -> str:
    r"""Returns a value as a Markdown code span on one line, whatever characters it has.

    Line breaks, control characters and marks that reverse the order of text become spaces.

    Example:
    >>> print(code("not_<b>\n|entailed|"), code("a`b"))
    `not_<b> |entailed|` ``a`b``
    """
    text = "".join(c if c.isprintable() or c in _JOINERS else " " for c in str(value))
    text = shortened(text.strip(), limit) or '""'
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def _is_ours(cls):
    return cls.__module__.startswith("keras_bert.") and "recipes" not in cls.__module__


def _sentence(model, task):
    backbone = getattr(model, "backbone", model)
    if _is_ours(type(backbone)) and backbone.architecture:
        return f"{_TITLES[architecture_of(model)]} that {task}."
    return f"A model that {task}, with the encoder {code(type(backbone).__name__)}."


def _metadata(model, name, pipeline, training, has_hugging_face):
    from huggingface_hub import ModelCardData

    library = "sentence-transformers" if name in _THEIR_WRAPPERS else "transformers"
    base = re.fullmatch(r"hf://([\w.-]+/[\w.-]+)(@.+)?", training.get("source", ""))
    return ModelCardData(
        library_name=library if has_hugging_face else "keras_bert",
        pipeline_tag=pipeline or None,
        tags=[*filter(None, [architecture_of(model)]), "keras", "keras_bert"],
        base_model=base and base[1],
    )


def _facts(model):
    reader, facts = getattr(model, "preprocessor", None), {"parameters": model.count_params()}
    for part in (getattr(model, "backbone", None), reader and reader.tokenizer, model, reader):
        facts |= shared_arguments(part.get_config()) if part is not None else {}
    left_out = ("backbone", "preprocessor", "tokenizer", "vocabulary")
    return [
        f"- {code(name)}: {_value(value)}"
        for name, value in facts.items()
        if name not in left_out and value not in (None, False, [], {})
    ]


def _training(training):
    if training.keys() & {"source", "runs"}:
        yield "## Training"
    if "source" in training:
        yield f"Training started from the weights of {code(training['source'])}."
    for number, run in enumerate(training.get("runs", [])):
        yield f"{'Then trained' if number else 'Trained'} as a {code(run['task'])}:"
        yield "\n".join(f"- {code(name)}: {_value(v)}" for name, v in run["settings"].items())
    if "scores" in training:
        yield "## Scores"
    for name, scores in training.get("scores", {}).items():
        yield f"On {code(name)}:"
        yield "\n".join(f"- {code(score)}: {v:.4g}" for score, v in scores.items())


def _our_lines(model, name, example):
    kinds = {type(model), type(getattr(model, "backbone", model))}
    own = "".join(f"  # and the module of {k.__name__}" for k in kinds if not _is_ours(k))
    load = f'model = keras_bert.{name}.from_preset("{FOLDER}")'
    use = [f"print(model.{example})"] if example and model.preprocessor is not None else []
    return [f"import keras_bert{own}", "", load, *use]


def _their_lines(name, folder):
    if name in _THEIR_WRAPPERS:
        wrapper = _THEIR_WRAPPERS[name]
        return f"from sentence_transformers import {wrapper}", "", f'model = {wrapper}("{FOLDER}")'
    [architecture] = read_json(folder / "config.json")["architectures"]
    load = f'model = {architecture}.from_pretrained("{FOLDER}")'
    if not (folder / "tokenizer_config.json").is_file():
        return f"from transformers import {architecture}", "", load
    words = f'tokenizer = AutoTokenizer.from_pretrained("{FOLDER}")'
    return f"from transformers import AutoTokenizer, {architecture}", "", words, load


def _python(*lines):
    return "\n".join(["```python", *lines, "```"])


def _value(value):
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(str, value))
    return code(f"{value:.6g}" if isinstance(value, float) else value)
