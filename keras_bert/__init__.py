"""BERT for Keras 3: vocabulary, pre-training, fine-tuning, evaluation and serving.

Shapes in this package are written with these letters:

    B batch      S sequence    P predictions (masked positions)
    H hidden     N heads       D head width (H / N)
    I intermediate             V vocabulary    C classes

`__init__.pyi` lists the public names for editors, type checkers and this module, which loads each
name on first use. Models therefore run without TensorFlow (`KERAS_BACKEND=jax` or `torch`).
Preprocessing and training data need TensorFlow and TensorFlow Text. If Keras is imported first,
this module registers all models, so that `keras.saving.load_model` finds them.
"""

import ast
import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from pkgutil import get_data

__version__ = "0.2.0"

if Path(__file__).with_name("bert.py").exists():  # keras-bert has that file, this package doesn't
    raise ImportError(
        "The packages keras-bert and keras3-bert are both installed, in one folder. Keep one: pip "
        "uninstall keras-bert keras3-bert, then pip install keras3-bert."
    )

_HOMES = {
    alias.name: node.module
    for node in ast.parse(get_data(__name__, "__init__.pyi")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}

__all__ = sorted(_HOMES)


# Names of KerasHub and transformers, for messages.
_ELSEWHERE = {
    "BertTextClassifier": "BertClassifier",
    "BertTextClassifierPreprocessor": "BertClassifierPreprocessor",
    "BertTextEmbedder": "BertEmbedder",
    "BertTextEmbedderPreprocessor": "BertEmbedderPreprocessor",
    "BertMaskedLM": "BertPretrainer",
    "BertMaskedLMPreprocessor": "BertPreprocessor",
    "BertModel": "BertBackbone",
    "BertForPreTraining": "BertPretrainer",
    "BertForMaskedLM": "BertPretrainer",
    "BertForSequenceClassification": "BertClassifier",
    "BertForTokenClassification": "BertTokenClassifier",
    "BertForQuestionAnswering": "BertSpanLabeler",
    "BertForMultipleChoice": "BertMultipleChoice",
    "BertTokenizerFast": "BertTokenizer",
}


_OTHER_SAVED = ("Lamb", "MarginMeanSquaredError")  # in .keras files, apart from models


def __getattr__(name):
    if name not in _HOMES:
        known = _ELSEWHERE.get(name)
        similar = [known] if known else get_close_matches(name, __all__, 1, cutoff=0.8)
        hint = f"; did you mean {similar[0]}?" if similar else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    home = _HOMES[name]
    is_module = home == __name__
    value = import_module(f"{home}.{name}") if is_module else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__():
    return [*__all__, "__version__"]


# Keras creates the objects of a .keras file only from registered classes. Without Keras nothing is
# imported here, so that recipes print their help and corpora start their workers at once.
if "keras" in sys.modules:
    for _name, _home in _HOMES.items():
        if _home.startswith("keras_bert.models.bert_") or _name in _OTHER_SAVED:
            import_module(_home)
