"""The published sizes of BERT, as keyword arguments of `BertBackbone`.

`base` and `large` are the paper's (Devlin et al., 2019, section 3). `SMALL_MODELS` holds the 24
that Google released later (Turc et al., 2019; README of google-research/bert, March 2020), by
hidden width and number of layers; four of them also have names: `tiny`, `mini`, `small` and
`medium`. `SIZES` holds all sizes by name.

Example:
>>> from keras_bert import sizes
>>> sizes.tiny
{'num_layers': 2, 'num_heads': 2, 'hidden_dim': 128, 'intermediate_dim': 512}
>>> sizes.SIZES["h512_l10"]["num_heads"]
8
"""

from typing import Any


def _size(num_layers: int, hidden_dim: int) -> dict[str, Any]:
    return {
        "num_layers": num_layers,
        "num_heads": hidden_dim // 64,
        "hidden_dim": hidden_dim,
        "intermediate_dim": 4 * hidden_dim,
    }


tiny = _size(2, 128)
mini = _size(4, 256)
small = _size(4, 512)
medium = _size(8, 512)
base = _size(12, 768)
large = _size(24, 1024)

SMALL_MODELS = {
    f"h{hidden_dim}_l{num_layers}": _size(num_layers, hidden_dim)
    for hidden_dim in (128, 256, 512, 768)
    for num_layers in (2, 4, 6, 8, 10, 12)
}

SIZES = {
    "tiny": tiny,
    "mini": mini,
    "small": small,
    "medium": medium,
    "base": base,
    "large": large,
    **SMALL_MODELS,
}
