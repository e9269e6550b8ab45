"""KerasHub's names for the parts of a BERT, and the settings fixed in its BERT.

Presets are read and written with the public API of keras-nlp, which is now an alias of keras-hub.
"""

from keras_bert.presets.formats.checkpoint import Spelling

# Arguments of a backbone with the same name in both libraries.
BACKBONE = (
    "vocabulary_size",
    "num_layers",
    "num_heads",
    "hidden_dim",
    "intermediate_dim",
    "dropout",
    "max_sequence_length",
    "num_segments",
)
BACKBONE_SIZES = tuple(name for name in BACKBONE if name != "dropout")
# KerasHub's encoder uses the tanh approximation of GELU; its masked-LM head uses the exact form.
ACTIVATION, HEAD_ACTIVATION, HEAD_EPSILON = "gelu_approximate", "gelu", 1e-5
# Key added to KerasHub's metadata.json, because its classifiers have no label names.
OWN_LABEL_NAMES = "keras_bert_label_names"
# {KerasHub's class: our class}
TASKS = {
    "BertMaskedLM": "BertPretrainer",
    "BertTextClassifier": "BertClassifier",
    "BertTextEmbedder": "BertEmbedder",
}
# {our layer: KerasHub's layers}
_LAYERS = {
    "embeddings/token_embedding": ("token_embedding",),
    "embeddings/segment_embedding": ("segment_embedding",),
    "embeddings/position_embedding": ("position_embedding",),
    "embeddings/norm": ("embeddings_layer_norm",),
    "pooler": ("pooled_dense",),
    "masked_lm/dense": ("mlm_head/intermediate_dense",),
    "masked_lm/norm": ("mlm_head/intermediate_layer_norm",),
    "logits": ("logits",),
}
_BLOCK = {
    "attention/query_key_value": tuple(
        f"self_attention_layer/{part}" for part in ("query", "key", "value")
    ),
    "attention/output_dense": ("self_attention_layer/attention_output",),
    "attention_norm": ("self_attention_layer_norm",),
    "intermediate_dense": ("feedforward_intermediate_dense",),
    "output_dense": ("feedforward_output_dense",),
    "output_norm": ("feedforward_layer_norm",),
}


def keras_hub_spellings(num_layers: int) -> dict[str, Spelling]:
    """Returns `{our name: Spelling}` for a KerasHub BERT and its heads."""
    layers = {**_LAYERS}
    for i in range(num_layers):
        layers |= {
            f"block_{i}/{ours}": tuple(f"transformer_layer_{i}/{name}" for name in theirs)
            for ours, theirs in _BLOCK.items()
        }
    spellings = {}
    for ours, theirs in layers.items():
        variables = ("kernel", "bias")
        if ours.endswith("_embedding"):
            variables = ("embeddings",)
        elif ours.endswith("norm"):
            variables = ("gamma", "beta")
        for variable in variables:
            names = tuple(f"{layer}/{variable}" for layer in theirs)
            spellings[f"{ours}/{variable}"] = Spelling(names)
    return {**spellings, "masked_lm/bias": Spelling(("mlm_head/output_bias",))}
