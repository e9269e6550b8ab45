"""How transformers describes and stores an encoder: `Architecture`."""

import re
from dataclasses import dataclass, field
from typing import Any

from keras_bert.files.json_files import JsonFields
from keras_bert.messages import check_one_of
from keras_bert.presets.formats.checkpoint import Checkpoint, Spelling
from keras_bert.presets.formats.weight_names import google_spellings

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

    Heads are called by the ends of their classes' names, as in `Checkpoint.head`. `renamed` has
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

    def read(self, config: JsonFields, source: str) -> dict[str, Any]:
        """Returns more arguments of the backbone; a ValueError if it can't compute the same."""
        check_value(config, "position_embedding_type", "absolute", source)
        return {
            "architecture": self.name,
            "activation": ACTIVATIONS[config.text(self.activation, "gelu")],
            **self.fixed,
        }

    def written(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """Returns more entries of `config.json`."""
        return {"position_embedding_type": "absolute"}

    def spellings(self, num_layers: int, head: str, first_position: int = 0) -> dict[str, Spelling]:
        """Returns `{our name: Spelling}` for a PyTorch state dict."""
        names = {ours: s.names for ours, s in google_spellings(num_layers, head).items()}
        bias = "bert/encoder/relative_attention_bias/weight"
        names["embeddings/relative_bias/bias"] = (bias,)
        if head == "ForMaskedLM":
            names["masked_lm/decoder/embeddings"] = ("cls/predictions/decoder/weights",)
        spellings = {}
        for ours, theirs in names.items():
            renamed = tuple(self._renamed(name, head) for name in theirs)
            spellings[ours] = Spelling(renamed, transposed=ours.endswith("/kernel"))
        positions = "embeddings/position_embedding/embeddings"
        spellings[positions] = spellings[positions]._replace(first_row=first_position)
        return spellings

    def _renamed(self, name, head):
        name = re.sub(r"^bert\.", f"{self.root}.", _in_torch(name))
        for old, new in {**self.renamed, **self.heads.get(head, {})}.items():
            name = name.replace(old, new)
        return name


def _in_torch(name):
    """Turns `bert/encoder/layer_0/output/...` into `bert.encoder.layer.0.output...`."""
    name = re.sub(r"^output_", "classifier/", name)
    name = re.sub(r"^cls/squad/output_", "qa_outputs/", name)
    name = re.sub(r"/output_(weights|bias)$", r"/\1", name)
    name = re.sub(r"/(kernel|gamma|weights)$", "/weight", name)
    name = re.sub(r"/beta$", "/bias", name)
    name = re.sub(r"(_embeddings)$", r"\1/weight", name)
    return re.sub(r"layer_(\d+)", r"layer/\1", name).replace("/", ".")


def check_value(config: JsonFields, key: str, only: Any, source: str) -> None:
    """Raises a ValueError if a file has another value than the supported one, its default."""
    check_one_of(f"{key} of {source}", config.value(key, only), [only])
