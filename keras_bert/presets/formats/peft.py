"""LoRA adapters in folders of PEFT, apart from the model that they change."""

from functools import partial
from pathlib import Path

import keras
import numpy as np
from safetensors.numpy import save_file

from keras_bert.files.given import file_in
from keras_bert.files.json_files import JsonFields, write_json
from keras_bert.presets.formats.architectures import ARCHITECTURES
from keras_bert.presets.formats.checkpoint import Checkpoint, Tensor, spell
from keras_bert.presets.formats.tensor_files import ADAPTER, full_name, read_safetensors

_WEIGHTS = "adapter_model.safetensors"
_PREFIX = "base_model.model."


def with_adapter(tensors: dict[str, Tensor], folder: Path, root: str) -> dict[str, Tensor]:
    """Adds a folder's matrices to a model's tensors; heads that it holds replace the model's.

    `root` is the first part of the names of the encoder's tensors.

    Raises:
        ValueError: if the adapter isn't plain LoRA of dense layers.
    """
    config = JsonFields(folder / ADAPTER)
    heads = {}
    pairs = {}
    for name, tensor in read_safetensors(file_in(folder, _WEIGHTS)).items():
        name = full_name(name.removeprefix(_PREFIX), root)
        layer, _, part = name.rpartition("lora_")
        if layer:
            pairs.setdefault(f"{layer}weight", {})[part] = tensor
        else:
            heads[name] = tensor
    are_pairs = all(pair.keys() == {"A.weight", "B.weight"} for pair in pairs.values())
    if not are_pairs or not pairs.keys() <= tensors.keys() or config.value("alpha_pattern"):
        raise ValueError(
            f"{folder} holds a PEFT adapter other than plain LoRA of dense layers. Merge it with "
            "PEFT, model.merge_and_unload().save_pretrained(folder), and load that folder."
        )
    merged = {name: t for name, t in tensors.items() if not heads or name.startswith(f"{root}.")}
    merged |= heads
    for name, pair in pairs.items():
        weight = tensors[name]
        merged[name] = Tensor(weight.shape, partial(_sum, config, weight, pair))
    return merged


def _sum(config, weight, pair):
    a = np.asarray(pair["A.weight"].read(), "float32")
    b = np.asarray(pair["B.weight"].read(), "float32")
    rank = len(a) ** (0.5 if config.boolean("use_rslora", False) else 1)
    return weight.read() + config.number("lora_alpha", 8) / rank * (b @ a)


def write_adapter(
    checkpoint: Checkpoint, layers: list[keras.layers.Dense], base: str, folder: Path
) -> None:
    """Writes the adapters of dense layers, and the head, whose weights the `Checkpoint` has."""
    architecture = ARCHITECTURES[checkpoint.architecture]
    spellings = architecture.spellings(checkpoint.backbone["num_layers"], checkpoint.published.head)
    tensors = spell(checkpoint.weights, spellings)
    heads = {name.removeprefix(f"{architecture.root}.").partition(".")[0] for name in tensors}
    targets = []
    for layer in layers:
        a = keras.ops.convert_to_numpy(layer.lora_kernel_a)  # [inputs, rank], shared by all parts
        b = Tensor(layer.lora_kernel_b.shape, partial(np.array, layer.lora_kernel_b))
        for name, part in spell({f"{layer.path}/kernel": b}, spellings).items():
            target = name.removesuffix(".weight")
            tensors[f"{target}.lora_A.weight"] = np.ascontiguousarray(a.T)
            tensors[f"{target}.lora_B.weight"] = part
            targets.append(target)
    config = {
        "peft_type": "LORA",
        "base_model_name_or_path": base.removeprefix("hf://"),
        "r": layers[0].lora_rank,
        "lora_alpha": layers[0].lora_alpha,
        "target_modules": targets,
        "modules_to_save": sorted(heads),
    }
    write_json(folder / ADAPTER, config)
    save_file({f"{_PREFIX}{name}": array for name, array in tensors.items()}, folder / _WEIGHTS)
