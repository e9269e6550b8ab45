"""The architectures of transformers that this library loads: their settings and weights.

Sources: transformers configuration_*.py and modeling_*.py of bert, distilbert, electra, roberta,
xlm_roberta, camembert and mpnet.
"""

from dataclasses import replace

from keras_bert.presets.formats.architecture import Architecture
from keras_bert.presets.formats.modernbert import MODERNBERT
from keras_bert.presets.formats.weight_names import BACKBONE

_BACKBONE = {
    **BACKBONE,
    "vocabulary_size": ("vocab_size", 30522),
    "layer_norm_epsilon": ("layer_norm_eps", 1e-12),
}
# The weights of heads are named as in a BERT, and then renamed.
_CLASSIFIER = {"classifier.": "classifier.out_proj.", "bert.pooler": "classifier"}


_BERT = Architecture(
    name="bert",
    prefix="Bert",
    backbone=_BACKBONE,
    fixed={"pooler_activation": "tanh", "relative_bias": False},
    root="bert",
)
_DISTILBERT = Architecture(
    name="distilbert",
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
        "bert.pooler.dense": "pre_classifier",
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
        "ForSequenceClassification": _CLASSIFIER,
        "ForMultipleChoice": {"bert.pooler.dense": "sequence_summary.summary"},
    },
    root="electra",
    has_pooler=False,
)
_XLM_ROBERTA = Architecture(
    name="xlm-roberta",
    prefix="XLMRoberta",
    backbone=_BACKBONE,
    fixed=_BERT.fixed,
    masked_lm_activation="gelu",
    renamed={
        "cls.predictions.transform.dense": "lm_head.dense",
        "cls.predictions.transform.LayerNorm": "lm_head.layer_norm",
        "cls.predictions": "lm_head",
    },
    heads={"ForSequenceClassification": _CLASSIFIER},
    root="roberta",
    skips_padding=True,
)
_CAMEMBERT = replace(_XLM_ROBERTA, name="camembert", prefix="Camembert")
_ROBERTA = replace(_XLM_ROBERTA, name="roberta", prefix="Roberta")
_MPNET = replace(
    _XLM_ROBERTA,
    name="mpnet",
    prefix="MPNet",
    backbone={ours: key for ours, key in _BACKBONE.items() if ours != "num_segments"},
    fixed={
        "pooler_activation": "tanh",
        "relative_bias": True,
        "num_segments": 0,
    },
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
)
_OF_BERTS = (_BERT, _DISTILBERT, _ELECTRA, _XLM_ROBERTA, _CAMEMBERT, _ROBERTA, _MPNET)
OF_BERTS = [architecture.name for architecture in _OF_BERTS]
"""The `model_type` of each that a `BertBackbone` can be."""
ARCHITECTURES = {each.name: each for each in (*_OF_BERTS, MODERNBERT)}
"""`{model_type: Architecture}`."""
