"""The architectures of transformers that a `BertBackbone` can be: their settings and weights.

Sources: transformers configuration_*.py and modeling_*.py of bert, distilbert, electra, roberta,
xlm_roberta, camembert and mpnet.
"""

import re
from dataclasses import dataclass, field, replace

from keras_bert.presets.formats.checkpoint import Spelling
from keras_bert.presets.formats.weight_names import BACKBONE, google_spellings

_BACKBONE = {
    **BACKBONE,
    "vocabulary_size": ("vocab_size", 30522),
    "layer_norm_epsilon": ("layer_norm_eps", 1e-12),
}
# The weights of heads are named as in a BERT, and then renamed.
_OUT_PROJ = {"classifier.": "classifier.out_proj."}


@dataclass(frozen=True)
class Architecture:
    """How transformers describes and stores an encoder with any head.

    Heads are called by the ends of their classes' names, as in `Checkpoint.head`. `renamed` has
    parts of the names of BERT's weights, replaced in this order; `heads` has more of them by head.
    With `skips_padding`, positions begin after the padding token's id, and rows of the table before
    it are unused.
    """

    name: str  # the `model_type`
    title: str
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
    skips_padding: bool = False
    required: dict = field(default_factory=dict)  # keys with the only supported values

    def dropout(self, head: str) -> tuple[str, float | None]:
        """Returns the key and the default of a head's dropout; None means the encoder's rate."""
        default = ("classifier_dropout", None)
        if head == "ForQuestionAnswering":
            default = ("qa_dropout", 0.0)  # no key of transformers
        return self.dropouts.get(head, default)

    def spellings(self, num_layers: int, head: str, first_position: int = 0) -> dict[str, Spelling]:
        """Returns `{our name: Spelling}` for a PyTorch state dict."""
        names = {ours: s.names for ours, s in google_spellings(num_layers, head).items()}
        names["embeddings/projection/kernel"] = ("bert/embeddings_project/kernel",)
        names["embeddings/projection/bias"] = ("bert/embeddings_project/bias",)
        bias = "bert/encoder/relative_attention_bias/weight"
        names["embeddings/relative_bias/bias"] = (bias,)
        if head == "ForMaskedLM":
            names["masked_lm/decoder/embeddings"] = ("cls/predictions/decoder/weights",)
        spellings = {}
        for ours, theirs in names.items():
            renamed = tuple(self._renamed(name, head) for name in theirs)
            spellings[ours] = Spelling(renamed, transposed=ours.endswith("/kernel"))
        positions = "embeddings/position_embedding/embeddings"
        spellings[positions] = replace(spellings[positions], first_row=first_position)
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


_BERT = Architecture(
    name="bert",
    title="A BERT",
    prefix="Bert",
    backbone=_BACKBONE,
    fixed={"pooler_activation": "tanh", "relative_bias": False},
    root="bert",
)
_DISTILBERT = Architecture(
    name="distilbert",
    title="A DistilBERT",
    prefix="DistilBert",
    backbone={
        "vocabulary_size": ("vocab_size", 30522),
        "num_layers": ("n_layers", 6),
        "num_heads": ("n_heads", 12),
        "hidden_dim": ("dim", 768),
        "intermediate_dim": ("hidden_dim", 3072),
        "dropout": ("dropout", 0.1),
        "attention_dropout": ("attention_dropout", 0.1),
        "max_sequence_length": ("max_position_embeddings", 512),
    },
    fixed={
        "pooler_activation": "relu",
        "relative_bias": False,
        "num_segments": 0,
        "layer_norm_epsilon": 1e-12,
        "causal": False,
    },
    activation="activation",
    dropouts={
        "ForSequenceClassification": ("seq_classif_dropout", 0.2),
        "ForMultipleChoice": ("seq_classif_dropout", 0.2),
        "ForQuestionAnswering": ("qa_dropout", 0.1),
    },
    renamed={
        "encoder.layer": "transformer.layer",
        "attention.self.query": "attention.q_lin",
        "attention.self.key": "attention.k_lin",
        "attention.self.value": "attention.v_lin",
        "attention.output.dense": "attention.out_lin",
        "attention.output.LayerNorm": "sa_layer_norm",
        "intermediate.dense": "ffn.lin1",
        "output.dense": "ffn.lin2",
        "output.LayerNorm": "output_layer_norm",
        "distilbert.pooler.dense": "pre_classifier",
        "cls.predictions.transform.dense": "vocab_transform",
        "cls.predictions.transform.LayerNorm": "vocab_layer_norm",
        "cls.predictions.decoder": "vocab_projector",  # its table, if it isn't tied
        "cls.predictions": "vocab_projector",  # its bias
    },
    root="distilbert",
    has_pooler=False,
)
_ELECTRA = Architecture(
    name="electra",
    title="An ELECTRA",
    prefix="Electra",
    backbone={
        **_BACKBONE,
        "embedding_dim": ("embedding_size", 128),
        "hidden_dim": ("hidden_size", 256),
        "num_heads": ("num_attention_heads", 4),
        "intermediate_dim": ("intermediate_size", 1024),
    },
    fixed={"pooler_activation": "gelu", "relative_bias": False},
    masked_lm_activation="gelu",
    dropouts={"ForMultipleChoice": ("summary_last_dropout", 0.1)},
    summary={"summary_type": "first", "summary_use_proj": True, "summary_activation": "gelu"},
    renamed={
        "cls.predictions.transform": "generator_predictions",
        "cls.predictions.decoder": "generator_lm_head",
        "cls.predictions": "generator_lm_head",
    },
    heads={
        "ForSequenceClassification": {**_OUT_PROJ, "electra.pooler": "classifier"},
        "ForMultipleChoice": {"electra.pooler.dense": "sequence_summary.summary"},
    },
    root="electra",
    has_pooler=False,
)
_XLM_ROBERTA = Architecture(
    name="xlm-roberta",
    title="An XLM-RoBERTa",
    prefix="XLMRoberta",
    backbone=_BACKBONE,
    fixed=_BERT.fixed,
    masked_lm_activation="gelu",
    renamed={
        "cls.predictions.transform.dense": "lm_head.dense",
        "cls.predictions.transform.LayerNorm": "lm_head.layer_norm",
        "cls.predictions": "lm_head",
    },
    heads={"ForSequenceClassification": {**_OUT_PROJ, "roberta.pooler": "classifier"}},
    root="roberta",
    skips_padding=True,
)
_CAMEMBERT = replace(_XLM_ROBERTA, name="camembert", title="A CamemBERT", prefix="Camembert")
_ROBERTA = replace(_XLM_ROBERTA, name="roberta", title="A RoBERTa", prefix="Roberta")
_MPNET = replace(
    _XLM_ROBERTA,
    name="mpnet",
    title="An MPNet",
    prefix="MPNet",
    backbone={ours: key for ours, key in _BACKBONE.items() if ours != "num_segments"},
    fixed={
        "pooler_activation": "tanh",
        "relative_bias": True,
        "num_segments": 0,
        "causal": False,
    },
    renamed={
        **_XLM_ROBERTA.renamed,
        "attention.self.query": "attention.attn.q",
        "attention.self.key": "attention.attn.k",
        "attention.self.value": "attention.attn.v",
        "attention.output.dense": "attention.attn.o",
        "attention.output.LayerNorm": "attention.LayerNorm",
    },
    heads={"ForSequenceClassification": {**_OUT_PROJ, "mpnet.pooler": "classifier"}},
    root="mpnet",
    required={"pad_token_id": 1, "relative_attention_num_buckets": 32},
)
ARCHITECTURES = {
    architecture.name: architecture
    for architecture in (_BERT, _DISTILBERT, _ELECTRA, _XLM_ROBERTA, _CAMEMBERT, _ROBERTA, _MPNET)
}
"""`{model_type: Architecture}`."""
