"""Low-rank adapters of a task's encoder."""

import contextlib
import json
import zlib

import keras

from keras_bert.files.whole import whole_file
from keras_bert.messages import check_finite, check_int, check_number
from keras_bert.presets.formats.checkpoint import explained
from keras_bert.training.keras_internals import lora_table


class Lora:
    """Mixin of tasks: low-rank adapters of the encoder."""

    def enable_lora(self, rank, alpha=None):
        """Freezes the encoder and adds low-rank adapters to its projections.

        `fit` then trains the adapters and the head: less memory for the optimizer, and a file of a
        few megabytes for each task (`save_lora`). Presets and exported models hold the merged
        weights. An optimizer that has trained before doesn't know the adapters: compile again.
        Source: Hu et al. 2022 (LoRA).

        Args:
            rank: int, the rank of each adapter, such as 8.
            alpha: float above 0; adapters are scaled by `alpha / rank`. None means `rank`.

        Raises:
            ValueError: if the rank or alpha is out of range, or the task has adapters already.

        Example:
        >>> from keras_bert import BertBackbone, BertClassifier, sizes
        >>> model = BertClassifier(BertBackbone(vocabulary_size=100, **sizes.tiny), num_classes=2)
        >>> model.enable_lora(rank=4)
        >>> [variable.path for variable in model.trainable_variables[-3:]]
        ['block_1/output_dense/lora_kernel_b', 'logits/kernel', 'logits/bias']
        """
        self.backbone.enable_lora(rank, alpha)

    def save_lora(self, path):
        """Writes the adapters and the head to a file of safetensors.

        Args:
            path: str or `Path` of the file to write.
        """
        from safetensors.numpy import save

        if not adapters(self.backbone):
            raise ValueError("This model has no LoRA adapters to save: call enable_lora first.")
        tensors = keras.tree.map_structure(keras.ops.convert_to_numpy, _saved(self))
        layer = self.backbone.lora_layers()[0]
        metadata = _identity(self)
        metadata["rank"] = str(layer.lora_rank)
        metadata["alpha"] = str(layer.lora_alpha)
        metadata["checksum"] = _checksum(tensors, metadata)
        with whole_file(path, "wb") as file:
            file.write(save(tensors, metadata))

    def load_lora(self, path):
        """Adds the adapters of a file to the encoder, and loads its head.

        Args:
            path: str or `Path` of a file that `save_lora` wrote.

        Raises:
            ValueError: if the file is damaged, or holds no adapters, adapters of another task or
                encoder, or values that are not finite floats.
        """
        from safetensors import safe_open

        with explained(path, "is not a file that save_lora wrote"), safe_open(path, "np") as file:
            metadata = file.metadata() or {}
            checksum = metadata.pop("checksum", None)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            rank = int(metadata["rank"])
            alpha = float(metadata["alpha"])
            check_settings(rank, alpha)
        expected = _identity(self)
        given = {name: metadata.get(name) for name in expected}
        for name, tensor in tensors.items():
            given[name] = tuple(tensor.shape)
        for name, variable in _saved(self).items():
            expected[name] = tuple(variable.shape)
        for layer in self.backbone.lora_layers():
            width, units = layer.kernel.shape
            expected[f"{layer.path}/lora_kernel_a"] = (width, rank)
            expected[f"{layer.path}/lora_kernel_b"] = (rank, units)
        for name in [*expected, *given]:
            if given.get(name) != expected.get(name):
                raise ValueError(
                    f"{path} is of another task or encoder: its {name} is {given.get(name)}, this "
                    f"model's {expected.get(name)}."
                )
        for name, tensor in tensors.items():
            check_finite(tensor, path, name)
        if checksum != _checksum(tensors, metadata):
            raise ValueError(
                f"{path} is damaged, or was changed: its checksum is another one. Copy or save it "
                "again."
            )
        self.enable_lora(rank, alpha)
        for name, variable in _saved(self).items():
            variable.assign(tensors[name])

    def merge_lora(self):
        """Adds the adapters to the weights of the encoder and removes them.

        All weights are trainable again: compile with a new optimizer before training. Weights in
        int8 are rounded again, which moves outputs by some percent; to avoid it, train and merge
        adapters before `quantize`.
        """
        self.backbone.merge_lora()


class AdaptedLayers(keras.layers.Layer):
    """Saves weights and adapters apart; Keras saves their sums and loads zeros as adapters.

    Keras saves and loads an attribute of a model, such as this layer, after the model's layers.
    """

    def __init__(self, layers):
        super().__init__()
        self.built = True
        self.is_saved = True
        self.encoder_layers = lambda: layers  # Keras would save the layers of a list here, too

    def adapted(self):
        variables = []
        for layer in self.encoder_layers():
            if layer.lora_enabled:
                variables += layer.variables
        return variables

    def save_own_variables(self, store):
        if self.is_saved:
            for number, variable in enumerate(self.adapted()):
                store[str(number)] = variable

    @contextlib.contextmanager
    def left_out(self):
        """Leaves the adapters out of files that are written in this block."""
        self.is_saved = False
        try:
            yield
        finally:
            self.is_saved = True

    def load_own_variables(self, store):
        if store.keys():
            for number, variable in enumerate(self.adapted()):
                variable.assign(store[str(number)])


def check_settings(rank, alpha):
    """Raises a ValueError unless adapters can have a rank and an alpha."""
    check_int("rank", rank)
    check_number("alpha", alpha, at_least=0, exclusive=True)


def _identity(task):
    """Returns what must be the same where adapters are trained and where they are loaded."""
    sizes = {name: n for name, n in task.backbone.get_config().items() if type(n) is int}
    _, last = lora_table(task.backbone.lora_layers()[-1])
    last = keras.ops.cast(last, "bfloat16")  # the same where weights were loaded in bfloat16
    last = keras.ops.convert_to_numpy(keras.ops.cast(last, "float32"))
    return {
        "task": type(task).__name__,
        "encoder": json.dumps(sizes),
        "checksum of the encoder": f"{zlib.crc32(last.tobytes()):08x}",
    }


def _checksum(tensors, metadata):
    crc = zlib.crc32(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(tensors):
        crc = zlib.crc32(tensors[name].tobytes(), crc)
    return f"{crc:08x}"


def adapters(encoder):
    """Returns the paths of an encoder's adapters."""
    paths = set()
    for layer in encoder.lora_layers():
        if layer.lora_enabled:
            paths |= {layer.lora_kernel_a.path, layer.lora_kernel_b.path}
    return paths


def _saved(task):
    frozen = {v.path for v in task.backbone.weights} - adapters(task.backbone)
    return {v.path: v for v in task.weights if v.path not in frozen}
