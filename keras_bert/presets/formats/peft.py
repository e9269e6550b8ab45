"""LoRA adapters of PEFT, which lie in a folder apart from the model that they change."""

from functools import partial
from pathlib import Path

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
    kept = {name: t for name, t in tensors.items() if not heads or name.startswith(f"{root}.")}
    merged = {**kept, **heads}
    is_plain = not config.value("alpha_pattern")
    for name in own.keys() - heads.keys():
        is_plain = is_plain and name.endswith(("lora_A.weight", "lora_B.weight"))
        if not name.endswith("lora_A.weight"):
            continue
        layer = name.removesuffix("lora_A.weight")
        is_plain = is_plain and f"{layer}weight" in tensors
        if is_plain:
            parts = (tensors[f"{layer}weight"], own[f"{layer}lora_B.weight"], own[name])
            merged[f"{layer}weight"] = Tensor(parts[0].shape, partial(_sum, config, *parts))
    if not is_plain:
        raise ValueError(
            f"{folder} holds a PEFT adapter other than plain LoRA of dense layers. Merge it with "
            "PEFT, model.merge_and_unload().save_pretrained(folder), and load that folder."
        )
    return merged


def _sum(config, weight, b, a):
    rank = a.shape[0] ** (0.5 if config.boolean("use_rslora", False) else 1)
    return weight.read() + config.number("lora_alpha") / rank * (b.read() @ a.read())
