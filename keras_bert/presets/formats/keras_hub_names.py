"""What KerasHub calls the parts of a BERT, and how its BERT is fixed.

Presets are read and written through the public API of keras-nlp (today another name of keras-hub).
"""

from keras_bert.presets.formats.checkpoint import Spelling

# Arguments of a backbone that have one name here and there.
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
# The encoder computes GELU by its tanh form, the masked-LM head exactly.
ACTIVATION, HEAD_ACTIVATION, HEAD_EPSILON = "gelu_approximate", "gelu", 1e-5
# Written into KerasHub's metadata.json, where its own keys stand: its classifiers have no names of
# labels.
OWN_LABEL_NAMES = "keras_bert_label_names"
# KerasHub's class: ours.
TASKS = {
    "BertMaskedLM": "BertPretrainer",
    "BertTextClassifier": "BertClassifier",
    "BertTextEmbedder": "BertEmbedder",
}
# Our layer: KerasHub's.
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


def keras_hub_spellings(num_layers):
    """`{our name: Spelling}` of a KerasHub BERT and its heads.

    Args:
        num_layers: int.
    """
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
