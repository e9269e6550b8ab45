"""LoRA adapters of PEFT, which lie in a folder apart from the model that they change."""

from functools import partial
from pathlib import Path

import numpy as np

from keras_bert.files.json_files import JsonFields
from keras_bert.presets.formats.checkpoint import Tensor
from keras_bert.presets.formats.tensor_files import full_name, read_safetensors

ADAPTER = "adapter_config.json"
_PREFIX = "base_model.model."


def with_adapter(tensors: dict[str, Tensor], folder: Path, root: str) -> dict[str, Tensor]:
    """Adds a folder's matrices to a model's tensors; heads that it holds replace the model's.

    `root` is the first part of the names of the encoder's tensors.

    Raises:
        ValueError: if the adapter isn't plain LoRA of dense layers.
    """
    config = JsonFields(folder / ADAPTER)
    own = read_safetensors(folder / "adapter_model.safetensors")
    own = {full_name(name.removeprefix(_PREFIX), root): tensor for name, tensor in own.items()}
    heads = {name: tensor for name, tensor in own.items() if "lora_" not in name}
    matrices = own.keys() - heads.keys()
    layers = {name.rpartition("lora_")[0] for name in matrices}
    has_pairs = matrices == {f"{layer}lora_{part}.weight" for layer in layers for part in "AB"}
    are_known = all(f"{layer}weight" in tensors for layer in layers)
    if not has_pairs or not are_known or config.value("alpha_pattern"):
        raise ValueError(
            f"{folder} holds a PEFT adapter other than plain LoRA of dense layers. Merge it with "
            "PEFT, model.merge_and_unload().save_pretrained(folder), and load that folder."
        )
    merged = {name: t for name, t in tensors.items() if not heads or name.startswith(f"{root}.")}
    merged |= heads
    for layer in layers:
        weight = tensors[f"{layer}weight"]
        b, a = (own[f"{layer}lora_{part}.weight"] for part in "BA")
        merged[f"{layer}weight"] = Tensor(weight.shape, partial(_sum, config, weight, b, a))
    return merged


def _sum(config, *tensors):
    weight, b, a = (np.asarray(tensor.read(), "float32") for tensor in tensors)
    rank = len(a) ** (0.5 if config.boolean("use_rslora", False) else 1)
    return weight + config.number("lora_alpha", 8) / rank * (b @ a)
