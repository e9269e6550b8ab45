"""Other libraries' names for the weights and arguments of a BERT.

Sources: google-research/bert modeling.py, run_pretraining.py, run_classifier.py, run_squad.py;
keras-hub bert_backbone.py, bert_masked_lm.py.
"""

from keras_bert.files.json_files import JsonFields
from keras_bert.presets.formats.checkpoint import Checkpoint, Spelling

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
# {our layer: (Google's scope, KerasHub's layer)}; {} is each of query, key and value
_LAYERS = {
    "embeddings/token_embedding": ("bert/embeddings/word_embeddings", "token_embedding"),
    "embeddings/segment_embedding": ("bert/embeddings/token_type_embeddings", "segment_embedding"),
    "embeddings/position_embedding": ("bert/embeddings/position_embeddings", "position_embedding"),
    "embeddings/norm": ("bert/embeddings/LayerNorm", "embeddings_layer_norm"),
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
    "masked_lm/dense": ("cls/predictions/transform/dense", "mlm_head/intermediate_dense"),
    "masked_lm/norm": ("cls/predictions/transform/LayerNorm", "mlm_head/intermediate_layer_norm"),
}
_OUTPUT = {"logits/kernel": "output_weights", "logits/bias": "output_bias"}
# {task: {our weight: Google's}}
_HEADS = {
    "BertPretrainer": {
        "masked_lm/bias": "cls/predictions/output_bias",
        "next_sentence/kernel": "cls/seq_relationship/output_weights",
        "next_sentence/bias": "cls/seq_relationship/output_bias",
    },
    "BertClassifier": _OUTPUT,
    "BertTokenClassifier": _OUTPUT,
    "BertMultipleChoice": _OUTPUT,
    "BertReranker": _OUTPUT,
    "BertSpanLabeler": {name: f"cls/squad/{theirs}" for name, theirs in _OUTPUT.items()},
}
OUTPUT_HEADS = tuple(task for task, head in _HEADS.items() if "logits/kernel" in head)
"""Tasks whose head is a single dense layer, `logits`."""
# {task: key in another library's config, which ignores it, for arguments of our classes}
_OWN_KEYS = {
    "BertClassifier": "keras_bert_classifier",
    "BertSpanLabeler": "keras_bert_span_labeler",
}
_OF_CLASSIFIERS = ("multi_label", "threshold", "window_stride", "window_pooling")
_OF_QUESTIONS = ("document_stride", "max_question_length", "max_answer_length", "null_threshold")
_OWN_ARGUMENTS = (*_OF_CLASSIFIERS, *_OF_QUESTIONS)


def read_own_entry(config: JsonFields, task: str | None) -> dict:
    """Reads the arguments that `own_entry` wrote; the classes that take them check their values."""
    own = config.fields(_OWN_KEYS[task]).values if task in _OWN_KEYS else {}
    return {name: own[name] for name in _OWN_ARGUMENTS if own.get(name) is not None}


def own_entry(checkpoint: Checkpoint) -> dict:
    """Makes the entry of another library's config for arguments of ours."""
    if checkpoint.task not in _OWN_KEYS:
        return {}
    arguments = checkpoint.task_arguments
    names = _OF_CLASSIFIERS if checkpoint.task == "BertClassifier" else arguments
    return {_OWN_KEYS[checkpoint.task]: {n: arguments[n] for n in names if n in arguments}}


def google_spellings(num_layers: int, task: str | None = None) -> dict[str, Spelling]:
    """Returns `{our name: Spelling}` for a TF1 checkpoint of Google's with the head of a task."""
    layers = {**_LAYERS, **(_MASKED_LM if task == "BertPretrainer" else {})}
    names = {
        ours: tuple(name.removesuffix("/embeddings") for name in theirs)
        for ours, theirs in _weights(layers, 0, "bert/encoder/layer_", num_layers).items()
    }
    names |= {ours: (theirs,) for ours, theirs in _HEADS.get(task, {}).items()}
    return {
        ours: Spelling(theirs, transposed=theirs[0].endswith("output_weights"))
        for ours, theirs in names.items()
    }


def keras_hub_spellings(num_layers: int) -> dict[str, Spelling]:
    """Returns `{our name: Spelling}` for a KerasHub BERT and its heads."""
    layers = {**_LAYERS, **_MASKED_LM, "logits": ("", "logits")}
    names = _weights(layers, 1, "transformer_layer_", num_layers)
    names["masked_lm/bias"] = ("mlm_head/output_bias",)
    return {ours: Spelling(theirs) for ours, theirs in names.items()}


def _weights(layers, library, block, num_layers):
    """Returns `{our weight: their names}` of layers and blocks, by the column of the tables."""
    names = {ours: theirs[library] for ours, theirs in layers.items()}
    for i in range(num_layers):
        theirs = {ours: each[library] for ours, each in _BLOCK.items()}
        names |= {f"block_{i}/{ours}": f"{block}{i}/{name}" for ours, name in theirs.items()}
    weights = {}
    for ours, theirs in names.items():
        parts = ("query", "key", "value") if "{}" in theirs else ("",)
        kinds = ("gamma", "beta") if ours.endswith("norm") else ("kernel", "bias")
        for kind in ("embeddings",) if ours.endswith("_embedding") else kinds:
            weights[f"{ours}/{kind}"] = tuple(f"{theirs.format(p)}/{kind}" for p in parts)
    return weights
