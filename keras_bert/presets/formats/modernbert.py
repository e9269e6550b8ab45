"""ModernBERT in transformers: `config.json` and weights.

Source: transformers configuration_modernbert.py and modeling_modernbert.py.
"""

from typing import Any

from keras_bert.files.json_files import JsonFields
from keras_bert.presets.formats.architecture import ACTIVATIONS, HIDDEN_ACTS, Architecture
from keras_bert.presets.formats.checkpoint import Checkpoint, Spelling
from keras_bert.presets.formats.weight_names import name_in_pytorch

_KINDS = {"global_theta": "full_attention", "local_theta": "sliding_attention"}
_THETAS = {"global_theta": 160_000.0, "local_theta": 10_000.0}
_IDS = {"pad": "pad", "cls": "cls", "bos": "cls", "sep": "sep", "eos": "sep"}
_LAYERS = {
    "embeddings/token_embedding/embeddings": "model.embeddings.tok_embeddings",
    "embeddings/norm/gamma": "model.embeddings.norm",
    "final_norm/gamma": "model.final_norm",
    "head/dense/kernel": "head.dense",
    "head/norm/gamma": "head.norm",
}
_BLOCK = {
    "attention_norm/gamma": "attn_norm",
    "attention/query_key_value/kernel": "attn.Wqkv",
    "attention/output_dense/kernel": "attn.Wo",
    "feed_forward_norm/gamma": "mlp_norm",
    "feed_forward/values_and_gates/kernel": "mlp.Wi",
    "feed_forward/output_dense/kernel": "mlp.Wo",
}


class _ModernBert(Architecture):
    def dropout(self, head):
        return "classifier_dropout", 0.0

    def has_pooler_under(self, head):
        return head != "Model"

    def read(self, config: JsonFields) -> dict[str, Any]:
        for key in ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias"):
            config.one_of(key, [False], False)
        config.one_of("decoder_bias", [True], True)
        activation = config.one_of(self.activation, ACTIVATIONS, "gelu")
        config.one_of("classifier_activation", [activation], activation)
        return {
            "activation": ACTIVATIONS[activation],
            "pooling": config.one_of("classifier_pooling", ["cls", "mean"], "cls"),
            "window": config.integer("local_attention", 128, low=2) // 2,
            "global_every": _global_every(config),
            **{name: _theta(config, name) for name in _KINDS},
        }

    def written(self, checkpoint: Checkpoint) -> dict[str, Any]:
        backbone = checkpoint.backbone
        tokenizer = checkpoint.own_tokenizer
        every = backbone["global_every"]
        kinds = ["sliding" if i % every else "full" for i in range(backbone["num_layers"])]
        rotations = {}
        for name, kind in _KINDS.items():
            rotations[kind] = {"rope_type": "default", "rope_theta": backbone[name]}
        ids = {}
        for key, role in _IDS.items():  # whose defaults are those of the published vocabulary
            ids[f"{key}_token_id"] = tokenizer and getattr(tokenizer, f"{role}_token_id")
        return {
            **ids,
            "classifier_activation": HIDDEN_ACTS[backbone["activation"]],
            "classifier_pooling": backbone["pooling"],
            "embedding_dropout": backbone["embedding_dropout"],
            "local_attention": 2 * backbone["window"],
            "layer_types": [f"{kind}_attention" for kind in kinds],
            "rope_parameters": rotations,
            "global_attn_every_n_layers": every,  # these three for transformers before version 5
            "global_rope_theta": backbone["global_theta"],
            "local_rope_theta": backbone["local_theta"],
        }

    def spellings(self, num_layers, head, first_position=0):
        names = {**_LAYERS}
        for i in range(num_layers):
            for ours, theirs in _BLOCK.items():
                names[f"block_{i}/{ours}"] = f"model.layers.{i}.{theirs}"
        if head == "ForMaskedLM":
            names |= {"masked_lm/bias": "decoder", "masked_lm/decoder/embeddings": "decoder"}
        elif head != "Model":
            names |= {"logits/kernel": "classifier", "logits/bias": "classifier"}
        spellings = {}
        for ours, theirs in names.items():
            name = name_in_pytorch(f"{theirs}/{ours.rpartition('/')[2]}")
            spellings[ours] = Spelling((name,), transposed=ours.endswith("/kernel"))
        return spellings


def _theta(config, name):
    """Returns the theta of a kind of layers, which older files have under a key of its own."""
    rotation = config.fields("rope_parameters").fields(_KINDS[name])
    rotation.one_of("rope_type", ["default"], "default")
    config.one_of("rope_scaling", [None])
    older = config.number(name.replace("_", "_rope_"), _THETAS[name])
    return rotation.number("rope_theta", older)


def _global_every(config):
    """Returns the distance of the layers that see all tokens."""
    kinds = config.texts("layer_types")
    if not kinds:
        return config.integer("global_attn_every_n_layers", 3, low=1)
    places = [i for i, kind in enumerate(kinds) if kind == "full_attention"]
    every = places[1] if len(places) > 1 else len(kinds)
    if places != [*range(0, len(kinds), every)]:
        raise ValueError(
            f"{config.path} has layer_types in which layers {places} see all tokens; this library "
            "supports layer 0 and others at one distance."
        )
    return every


MODERNBERT = _ModernBert(
    name="modernbert",
    prefix="ModernBert",
    backbone={
        "vocabulary_size": ("vocab_size", 50368),
        "num_layers": ("num_hidden_layers", 22),
        "num_heads": ("num_attention_heads", 12),
        "hidden_dim": ("hidden_size", 768),
        "intermediate_dim": ("intermediate_size", 1152),
        "dropout": ("mlp_dropout", 0.0),
        "attention_dropout": ("attention_dropout", 0.0),
        "embedding_dropout": ("embedding_dropout", 0.0),
        "max_sequence_length": ("max_position_embeddings", 8192),
        "layer_norm_epsilon": ("norm_eps", 1e-5),
    },
    fixed={},
    activation="hidden_activation",
    root="model",
    pooler=("head/dense/kernel", "head/norm/gamma"),
    backbone_name="ModernBertBackbone",
)
