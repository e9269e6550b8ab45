"""Low-rank adapters of a task's encoder: methods of `BertTask`."""

import numbers

import keras

from keras_bert.arguments import check_number
from keras_bert.files.whole import whole_file
from keras_bert.training.keras_internals import merge_lora as merge_layer


def enable_lora(task, rank, alpha=None):
    """Freezes the encoder and adds low-rank adapters to its projections.

    `fit` then trains the adapters and the head: less memory for the optimizer, and a file of a few
    megabytes for each task (`save_lora`). Call it before `compile` and `fit`. Presets and exported
    models hold the merged weights. Source: Hu et al. 2022 (LoRA).

    Args:
        task: a `BertTask`.
        rank: int, the rank of each adapter, such as 8.
        alpha: float; adapters are scaled by `alpha / rank`. None means `rank`.

    Raises:
        ValueError: if the rank is below 1, alpha is not a finite number, the task has adapters
            already, or it was compiled.

    Example:
    >>> from keras_bert import BertBackbone, BertClassifier, sizes
    >>> model = BertClassifier(BertBackbone(vocabulary_size=100, **sizes.tiny), num_classes=2)
    >>> model.enable_lora(rank=4)
    >>> [variable.path for variable in model.trainable_variables[-3:]]
    ['block_1/output_dense/lora_kernel_b', 'logits/kernel', 'logits/bias']
    """
    if not isinstance(rank, numbers.Integral) or rank < 1:
        raise ValueError(f"rank must be an int of at least 1; got {rank!r}.")
    if alpha is not None:
        check_number("alpha", alpha)
    if has_lora(task):
        raise ValueError("This model has LoRA adapters already. Merge them with merge_lora first.")
    if task.compiled:
        raise ValueError(
            "enable_lora changes what an optimizer trains: call it before compile and fit."
        )
    for layer in _projections(task):
        layer.enable_lora(int(rank), lora_alpha=alpha)
    for variable in task.backbone.weights:
        variable.trainable = variable.path in _adapters(task)


def has_lora(task):
    """Returns whether the encoder's projections have adapters."""
    return any(layer.lora_enabled for layer in _projections(task))


def save_lora(task, path):
    """Writes the adapters and the head to a file of safetensors.

    Args:
        task: a `BertTask` with adapters.
        path: str or `Path` of the file to write.

    Raises:
        ValueError: if the task has no adapters.
    """
    from safetensors.numpy import save

    if not has_lora(task):
        raise ValueError("This model has no LoRA adapters to save: call enable_lora first.")
    tensors = {
        name: keras.ops.convert_to_numpy(variable) for name, variable in _saved(task).items()
    }
    layer = next(_projections(task))
    metadata = {"rank": str(layer.lora_rank), "alpha": str(layer.lora_alpha)}
    with whole_file(path, "wb") as file:
        file.write(save(tensors, metadata))


def load_lora(task, path):
    """Adds the adapters of a file to the encoder, and loads its head.

    Args:
        task: a `BertTask` on the encoder that the adapters were trained on, without adapters.
        path: str or `Path` of a file that `save_lora` wrote.

    Raises:
        ValueError: if the file holds no adapters, or those of another encoder or task.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        rank, alpha = int(metadata["rank"]), float(metadata["alpha"])
    except (SafetensorError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a file that save_lora wrote: {error}.") from error
    shapes = {name: tuple(v.shape) for name, v in _saved(task).items()}
    for layer in _projections(task):
        kernel = layer.kernel.shape
        shapes[f"{layer.path}/lora_kernel_a"] = (kernel[0], rank)
        shapes[f"{layer.path}/lora_kernel_b"] = (rank, kernel[1])
    given = {name: tensor.shape for name, tensor in tensors.items()}
    if given != shapes:
        name = min(name for name in given.keys() | shapes if given.get(name) != shapes.get(name))
        raise ValueError(
            f"{path} is of another encoder or task: it has {given.get(name, 'no tensor')} as "
            f"{name}, this model {shapes.get(name, 'none')}."
        )
    enable_lora(task, rank, alpha)
    for name, variable in _saved(task).items():
        variable.assign(tensors[name])


def merge_lora(task):
    """Adds the adapters to the weights of the encoder and removes them.

    Predictions stay the same. All weights are trainable again; compile before training.
    """
    for layer in _projections(task):
        if layer.lora_enabled:
            merge_layer(layer)
    for variable in task.backbone.weights:
        variable.trainable = True


def _projections(task):
    """Yields the dense layers of the encoder's blocks."""
    for block in task.backbone.blocks:
        yield from (block.attention.query_key_value, block.attention.output_dense)
        yield from (block.intermediate_dense, block.output_dense)


def _adapters(task):
    """Returns the paths of the adapters' variables."""
    layers = [layer for layer in _projections(task) if layer.lora_enabled]
    return {v.path for layer in layers for v in (layer.lora_kernel_a, layer.lora_kernel_b)}


def _saved(task):
    """Returns the adapters and the weights of the head, by path."""
    adapters = _adapters(task)
    frozen = {v.path for v in task.backbone.weights} - adapters
    return {v.path: v for v in task.weights if v.path not in frozen}
