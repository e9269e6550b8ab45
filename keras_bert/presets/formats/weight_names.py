"""Google's, transformers' and KerasHub's names for the weights of a BERT.

Sources: google-research/bert modeling.py, run_pretraining.py, run_classifier.py, run_squad.py;
transformers modeling_bert.py; keras-hub bert_backbone.py, bert_masked_lm.py.
"""

from keras_bert.presets.formats.checkpoint import Spelling

# {argument of BertBackbone: (key of the config, default)}
BACKBONE = {
    "vocabulary_size": ("vocab_size", None),
    "num_layers": ("num_hidden_layers", 12),
    "num_heads": ("num_attention_heads", 12),
    "hidden_dim": ("hidden_size", 768),
    "intermediate_dim": ("intermediate_size", 3072),
    "dropout": ("hidden_dropout_prob", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    "max_sequence_length": ("max_position_embeddings", 512),
    "num_segments": ("type_vocab_size", 2),
}
# {our layer: (Google's scope, KerasHub's layer)}; {} stands for query, key and value
_LAYERS = {
    "embeddings/token_embedding": ("bert/embeddings/word_embeddings", "token_embedding"),
    "embeddings/segment_embedding": ("bert/embeddings/token_type_embeddings", "segment_embedding"),
    "embeddings/position_embedding": ("bert/embeddings/position_embeddings", "position_embedding"),
    "embeddings/norm": ("bert/embeddings/LayerNorm", "embeddings_layer_norm"),
    "embeddings/projection": ("bert/embeddings_project", "embeddings_projection"),
    "pooler": ("bert/pooler/dense", "pooled_dense"),
}
_BLOCK = {
    "attention/query_key_value": ("attention/self/{}", "self_attention_layer/{}"),
    "attention/output_dense": ("attention/output/dense", "self_attention_layer/attention_output"),
    "attention_norm": ("attention/output/LayerNorm", "self_attention_layer_norm"),
    "intermediate_dense": ("intermediate/dense", "feedforward_intermediate_dense"),
    "output_dense": ("output/dense", "feedforward_output_dense"),
    "output_norm": ("output/LayerNorm", "feedforward_layer_norm"),
}
_MASKED_LM = {
    "masked_lm/transform/dense": ("cls/predictions/transform/dense", "mlm_head/intermediate_dense"),
    "masked_lm/transform/norm": (
        "cls/predictions/transform/LayerNorm",
        "mlm_head/intermediate_layer_norm",
    ),
}
# Columns of these tables.
_GOOGLE = 0
_KERAS_HUB = 1
_IN_PYTORCH = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}


def google_spellings(num_layers: int, head: str) -> dict[str, Spelling]:
    """Returns `{our name: Spelling}` for a TF1 checkpoint of Google's with a `Published.head`."""
    layers = {**_LAYERS}
    if head == "ForMaskedLM":
        layers |= _MASKED_LM
    spellings = {}
    for name, theirs in _weights(layers, _GOOGLE, "bert/encoder/layer_", num_layers).items():
        spellings[name] = Spelling(tuple(part.removesuffix("/embeddings") for part in theirs))
    if head == "ForMaskedLM":
        spellings["masked_lm/bias"] = Spelling(("cls/predictions/output_bias",))
        spellings |= _output("next_sentence", "cls/seq_relationship/")
    elif head == "ForQuestionAnswering":
        spellings |= _output("logits", "cls/squad/")
    elif head != "Model":
        spellings |= _output("logits", "")
    return spellings


def bert_names(num_layers: int, head: str) -> dict[str, tuple[str, ...]]:
    """Returns `{our name: paths}` for transformers' BERT with a `Published.head`."""
    layers = {**_LAYERS}
    if head == "ForMaskedLM":
        layers |= {**_MASKED_LM, "next_sentence": ("cls/seq_relationship",)}
    elif head == "ForQuestionAnswering":
        layers["logits"] = ("qa_outputs",)
    elif head != "Model":
        layers["logits"] = ("classifier",)
    names = _weights(layers, _GOOGLE, "bert/encoder/layer/", num_layers)
    names["embeddings/relative_bias/bias"] = ("bert/encoder/relative_attention_bias/weight",)
    if head == "ForMaskedLM":
        names["masked_lm/bias"] = ("cls/predictions/bias",)
        names["masked_lm/decoder/embeddings"] = ("cls/predictions/decoder/weight",)
    return names


def name_in_pytorch(path: str) -> str:
    """Turns the path of a TensorFlow variable, "dense/kernel", into PyTorch's "dense.weight"."""
    *layers, variable = path.split("/")
    return ".".join([*layers, _IN_PYTORCH.get(variable, variable)])


def keras_hub_spellings(num_layers: int, head: str) -> dict[str, Spelling]:
    """Returns `{our name: Spelling}` for a KerasHub BERT with any head."""
    layers = {**_LAYERS, **_MASKED_LM, "logits": ("", "logits")}
    names = _weights(layers, _KERAS_HUB, "transformer_layer_", num_layers)
    names["masked_lm/bias"] = ("mlm_head/output_bias",)
    return {ours: Spelling(theirs) for ours, theirs in names.items()}


def _output(layer, scope):
    return {
        f"{layer}/kernel": Spelling((f"{scope}output_weights",), transposed=True),
        f"{layer}/bias": Spelling((f"{scope}output_bias",)),
    }


def _weights(layers, library, block, num_layers):
    """Returns `{our weight: their names}` of layers and blocks, by the column of the tables."""
    layer_names = {ours: names[library] for ours, names in layers.items()}
    for i in range(num_layers):
        for ours, names in _BLOCK.items():
            layer_names[f"block_{i}/{ours}"] = f"{block}{i}/{names[library]}"
    weights = {}
    for ours, theirs in layer_names.items():
        # Layers other than the attention's have one name.
        scopes = dict.fromkeys(theirs.format(part) for part in ("query", "key", "value"))
        variables = ("kernel", "bias")
        if ours.endswith("norm"):
            variables = ("gamma", "beta")
        elif ours.endswith("_embedding"):
            variables = ("embeddings",)
        for variable in variables:
            weights[f"{ours}/{variable}"] = tuple(f"{scope}/{variable}" for scope in scopes)
    return weights
