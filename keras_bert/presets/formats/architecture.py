"""How transformers describes and stores an encoder: `Architecture`."""

import re
from dataclasses import dataclass, field
from typing import Any

from keras_bert.files.json_files import JsonFields
from keras_bert.presets.formats.checkpoint import Checkpoint, Spelling
from keras_bert.presets.formats.weight_names import bert_names, name_in_pytorch

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_approximate",
    "gelu_pytorch_tanh": "gelu_approximate",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
    "gelu_python": "gelu",
    "gelu_fast": "gelu_approximate",
}
HIDDEN_ACTS = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}


@dataclass(frozen=True)
class Architecture:
    """How transformers describes and stores an encoder with any head.

    Heads are called by the ends of their classes' names, as in `Published.head`. `renamed` has
    parts of the names of BERT's weights, replaced in this order; `heads` has more of them by head.
    With `skips_padding`, positions begin after the padding token's id, and rows of the table before
    it are unused.
    """

    name: str  # the `model_type`
    prefix: str  # of the names of its classes
    backbone: dict[str, tuple]  # argument of BertBackbone: (key of config.json, default)
    fixed: dict  # arguments that config.json can't change
    activation: str = "hidden_act"  # its key
    masked_lm_activation: str | None = None  # None: the encoder's
    dropouts: dict[str, tuple] = field(default_factory=dict)  # of heads: (key, default)
    summary: dict = field(default_factory=dict)  # keys that the head of choices needs
    renamed: dict[str, str] = field(default_factory=dict)
    heads: dict[str, dict] = field(default_factory=dict)
    root: str = ""  # of the names of the encoder's weights
    has_pooler: bool = True  # in the class without a head
    pooler: tuple[str, ...] = ("pooler/kernel", "pooler/bias")  # our weights of it
    backbone_name: str = "BertBackbone"
    skips_padding: bool = False
    required: dict = field(default_factory=dict)  # keys with the only supported values

    def dropout(self, head: str) -> tuple[str, float | None]:
        """Returns the key and the default of a head's dropout; None means the encoder's rate."""
        default = ("classifier_dropout", None)
        if head == "ForQuestionAnswering":
            default = ("qa_dropout", 0.0)  # no key of transformers
        return self.dropouts.get(head, default)

    def has_pooler_under(self, head: str) -> bool:
        """Returns whether transformers' class with a head holds the pooler's weights."""
        if head in ("ForSequenceClassification", "ForMultipleChoice"):
            return True
        return self.has_pooler and head in ("Model", "ForPreTraining")

    def read(self, config: JsonFields) -> dict[str, Any]:
        """Returns more arguments of the backbone; a ValueError if it can't compute the same."""
        config.one_of("position_embedding_type", ["absolute"], "absolute")
        activation = ACTIVATIONS[config.one_of(self.activation, ACTIVATIONS, "gelu")]
        return {"architecture": self.name, "activation": activation, **self.fixed}

    def written(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """Returns more entries of `config.json`."""
        return {"position_embedding_type": "absolute"}

    def spellings(self, num_layers: int, head: str, first_position: int = 0) -> dict[str, Spelling]:
        """Returns `{our name: Spelling}` for a PyTorch state dict."""
        spellings = {}
        for ours, paths in bert_names(num_layers, head).items():
            names = tuple(self._renamed(name_in_pytorch(path), head) for path in paths)
            spellings[ours] = Spelling(names, transposed=ours.endswith("/kernel"))
        positions = "embeddings/position_embedding/embeddings"
        spellings[positions] = spellings[positions]._replace(first_row=first_position)
        return spellings

    def _renamed(self, name, head):
        for old, new in {**self.renamed, **self.heads.get(head, {})}.items():
            name = name.replace(old, new)
        return re.sub(r"^bert\.", f"{self.root}.", name)
