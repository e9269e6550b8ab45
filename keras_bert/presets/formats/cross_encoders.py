"""Cross-encoders of sentence-transformers: what their folders add to those of transformers.

A cross-encoder is a `BertForSequenceClassification` with one label. The activation of its scores is
named in `config.json`, in version 3 of sentence-transformers under
`sbert_ce_default_activation_function` and in version 4 under `sentence_transformers`. Version 6
names it in `config_sentence_transformers.json`.
"""

import logging
from pathlib import Path

from keras_bert.files.json_fields import JsonFields

logger = logging.getLogger("keras_bert")

_OLD_KEY = "sbert_ce_default_activation_function"
_ACTIVATIONS = {
    "sigmoid": "torch.nn.modules.activation.Sigmoid",
    "linear": "torch.nn.modules.linear.Identity",
}


def is_cross_encoder(folder: Path, config: JsonFields) -> bool:
    """Returns whether sentence-transformers saved a folder as a cross-encoder."""
    return _activation(folder, config) is not None


def reranker_arguments(folder: Path, config: JsonFields, dropout: float) -> dict:
    """Returns the arguments of a `BertReranker` and its preprocessor for a folder with one label.

    Without a known activation it is the sigmoid, as in sentence-transformers.
    """
    theirs = _activation(folder, config)
    kinds = {name.rsplit(".", 1)[-1]: ours for ours, name in _ACTIVATIONS.items()}
    activation = kinds.get((theirs or "Sigmoid").rsplit(".", 1)[-1])
    if activation is None:
        logger.warning(
            "%s: scores are %s of the logits there, and their sigmoid here; the order of documents "
            "is the same.",
            folder,
            theirs,
        )
    return {"dropout": dropout, "activation": activation or "sigmoid"}


def cross_encoder_config(arguments: dict) -> dict:
    """Returns the entries of `config.json` for a `BertReranker`."""
    activation = _ACTIVATIONS[arguments.get("activation", "sigmoid")]
    return {
        "id2label": {"0": "LABEL_0"},
        "label2id": {"LABEL_0": 0},
        "sentence_transformers": {"activation_fn": activation},
        _OLD_KEY: activation,
    }


def _activation(folder, config):
    """Returns the name of the activation's class, or None."""
    files = (config.fields("sentence_transformers"),)
    files += (JsonFields(folder / "config_sentence_transformers.json"),)
    found = (fields.text("activation_fn") for fields in files)
    return next((name for name in found if name), None) or config.text(_OLD_KEY)
