"""The architectures of transformers that a `BertBackbone` can be: their settings and weights.

Sources: transformers configuration_*.py and modeling_*.py of bert, distilbert, electra, roberta,
xlm_roberta, camembert and mpnet.
"""

import re
from dataclasses import dataclass, field, replace

import keras

from keras_bert.presets.formats.checkpoint import Spelling
from keras_bert.presets.formats.weight_names import BACKBONE, google_spellings

_BERT = {
    **BACKBONE,
    "vocabulary_size": ("vocab_size", 30522),
    "layer_norm_epsilon": ("layer_norm_eps", 1e-12),
}
_DROPOUTS = {"BertSpanLabeler": ("qa_dropout", 0.0)}
_SUMMARY = {"summary_type": "first", "summary_use_proj": True, "summary_activation": "gelu"}
_ELECTRA_CLASSIFIER = {"classifier.": "classifier.out_proj.", "electra.pooler": "classifier"}


@dataclass(frozen=True)
class Architecture:
    """How transformers describes and stores an encoder with any head.

    `renamed` has parts of the names of BERT's weights, replaced in this order; `heads` has more of
    them by task. With `skips_padding`, positions begin after the padding token's id, and rows of
    the table before it are unused.
    """

    name: str  # the `model_type`
    prefix: str  # of the names of its classes
    backbone: dict[str, tuple]  # argument of BertBackbone: (key of config.json, default)
    fixed: dict = field(default_factory=dict)  # arguments that config.json can't change
    activation: str = "hidden_act"  # its key
    masked_lm_activation: str | None = None  # None: the encoder's
    dropouts: dict[str, tuple] = field(default_factory=dict)  # of heads: (key, default)
    summary: dict = field(default_factory=dict)  # keys that the head of choices needs
    renamed: dict[str, str] = field(default_factory=dict)
    heads: dict[str, dict] = field(default_factory=dict)
    root: str = ""  # of the names of the encoder's weights; by default `name`
    skips_padding: bool = False
    required: dict = field(default_factory=dict)  # keys without which its numbers are others

    def __post_init__(self):
        object.__setattr__(self, "root", self.root or self.name)

    def dropout(self, task: str) -> tuple[str, float | None]:
        """Returns the key and the default of a head's dropout; None means the encoder's rate."""
        return {**_DROPOUTS, **self.dropouts}.get(task, ("classifier_dropout", None))

    def spellings(
        self, num_layers: int, task: str | None = None, first_position: int = 0
    ) -> dict[str, Spelling]:
        """Returns `{our name: Spelling}` for a PyTorch state dict."""

        def renamed(name):
            name = re.sub(r"^bert\.", f"{self.root}.", _as_in_torch(name))
            for old, new in {**self.renamed, **self.heads.get(task, {})}.items():
                name = name.replace(old, new)
            return name

        names = {ours: each.names for ours, each in google_spellings(num_layers, task).items()}
        for kind in ("kernel", "bias"):
            names[f"embeddings/projection/{kind}"] = (f"bert/embeddings_project/{kind}",)
        bias = "bert/encoder/relative_attention_bias/weight"
        names["embeddings/relative_bias/bias"] = (bias,)
        if task == "BertPretrainer":
            names["masked_lm/decoder/embeddings"] = ("cls/predictions/decoder/weights",)
        spellings = {
            ours: Spelling(tuple(map(renamed, theirs)), transposed=ours.endswith("/kernel"))
            for ours, theirs in names.items()
        }
        positions = "embeddings/position_embedding/embeddings"
        spellings[positions] = replace(spellings[positions], first_row=first_position)
        return spellings


_ROBERTA_CLASSIFIER = {"classifier.": "classifier.out_proj."}
_ROBERTA_CLASSIFIER |= {"roberta.pooler": "classifier", "mpnet.pooler": "classifier"}
_XLM_ROBERTA = Architecture(
    "xlm-roberta",
    "XLMRoberta",
    _BERT,
    masked_lm_activation="gelu",
    renamed={
        "cls.predictions.transform.dense": "lm_head.dense",
        "cls.predictions.transform.LayerNorm": "lm_head.layer_norm",
        "cls.predictions": "lm_head",
    },
    heads={"BertClassifier": _ROBERTA_CLASSIFIER, "BertReranker": _ROBERTA_CLASSIFIER},
    root="roberta",
    skips_padding=True,
)
ARCHITECTURES = {
    each.name: each
    for each in (
        Architecture("bert", "Bert", _BERT),
        Architecture(
            "distilbert",
            "DistilBert",
            {
                "vocabulary_size": ("vocab_size", 30522),
                "num_layers": ("n_layers", 6),
                "num_heads": ("n_heads", 12),
                "hidden_dim": ("dim", 768),
                "intermediate_dim": ("hidden_dim", 3072),
                "dropout": ("dropout", 0.1),
                "attention_dropout": ("attention_dropout", 0.1),
                "max_sequence_length": ("max_position_embeddings", 512),
            },
            dict(pooler_activation="relu", num_segments=0, layer_norm_epsilon=1e-12, causal=False),
            activation="activation",
            dropouts={
                "BertClassifier": ("seq_classif_dropout", 0.2),
                "BertReranker": ("seq_classif_dropout", 0.2),
                "BertMultipleChoice": ("seq_classif_dropout", 0.2),
                "BertSpanLabeler": ("qa_dropout", 0.1),
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
        ),
        Architecture(
            "electra",
            "Electra",
            {
                **_BERT,
                "embedding_dim": ("embedding_size", 128),
                "hidden_dim": ("hidden_size", 256),
                "num_heads": ("num_attention_heads", 4),
                "intermediate_dim": ("intermediate_size", 1024),
            },
            {"pooler_activation": "gelu"},
            masked_lm_activation="gelu",
            dropouts={"BertMultipleChoice": ("summary_last_dropout", 0.1)},
            summary=_SUMMARY,
            renamed={
                "cls.predictions.transform": "generator_predictions",
                "cls.predictions.decoder": "generator_lm_head",
                "cls.predictions": "generator_lm_head",
            },
            heads={
                "BertClassifier": _ELECTRA_CLASSIFIER,
                "BertReranker": _ELECTRA_CLASSIFIER,
                "BertMultipleChoice": {"electra.pooler.dense": "sequence_summary.summary"},
            },
        ),
        _XLM_ROBERTA,
        replace(_XLM_ROBERTA, name="camembert", prefix="Camembert"),
        replace(_XLM_ROBERTA, name="roberta", prefix="Roberta"),
        replace(
            _XLM_ROBERTA,
            name="mpnet",
            prefix="MPNet",
            backbone={ours: each for ours, each in _BERT.items() if ours != "num_segments"},
            fixed=dict(num_segments=0, relative_bias=True, causal=False),
            renamed={
                **_XLM_ROBERTA.renamed,
                "attention.self.query": "attention.attn.q",
                "attention.self.key": "attention.attn.k",
                "attention.self.value": "attention.attn.v",
                "attention.output.dense": "attention.attn.o",
                "attention.output.LayerNorm": "attention.LayerNorm",
            },
            root="mpnet",
            required={"pad_token_id": 1, "relative_attention_num_buckets": 32},
        ),
    )
}
"""`{model_type: Architecture}`."""


def architecture_of(model: keras.Model) -> str | None:
    """Returns the `model_type`; tokenizers tell RoBERTa and CamemBERT from XLM-RoBERTa."""
    architecture = getattr(model, "backbone", model).architecture
    tokenizer = getattr(getattr(model, "preprocessor", None), "tokenizer", None)
    family = getattr(tokenizer, "family", None)
    has_own = architecture == "xlm-roberta" and family not in (None, "mpnet")
    return family if has_own else architecture


def _as_in_torch(name):
    """Turns `bert/encoder/layer_0/output/...` into `bert.encoder.layer.0.output...`."""
    name = re.sub(r"^output_", "classifier/", name)
    name = re.sub(r"^cls/squad/output_", "qa_outputs/", name)
    name = re.sub(r"/output_(weights|bias)$", r"/\1", name)
    name = re.sub(r"/(kernel|gamma|weights)$", "/weight", name)
    name = re.sub(r"/beta$", "/bias", name)
    name = re.sub(r"(_embeddings)$", r"\1/weight", name)
    return re.sub(r"layer_(\d+)", r"layer/\1", name).replace("/", ".")
