"""Low-rank adapters of a task's encoder."""

import contextlib

import keras

from keras_bert.presets.save_model import save_adapter


class Lora:
    """Mixin of tasks: low-rank adapters of the encoder."""

    def enable_lora(self, rank, alpha=None):
        """Freezes the encoder and adds low-rank adapters to its projections.

        `fit` then trains the adapters and the head: less memory for the optimizer, and a folder of
        a few megabytes for each task (`save_lora`). Presets and exported models hold the merged
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

    def save_lora(self, folder, base):
        """Writes the adapters and the head as a folder of PEFT.

        `from_preset(folder)` loads the base, adds the adapters to its weights, and takes the head.

        Args:
            folder: str or `Path`; an earlier model there is replaced.
            base: str, the weights that training began with: a folder, `"hf://user/name"` or
                `"user/name"` on the Hugging Face Hub.

        Raises:
            ValueError: if the model has no adapters, or is quantized, or transformers has no such
                encoder.
        """
        if not adapters(self.backbone):
            raise ValueError("This model has no LoRA adapters to save: call enable_lora first.")
        save_adapter(self, folder, base)

    def merge_lora(self):
        """Adds the adapters to the weights of the encoder and removes them.

        All weights are trainable again: compile with a new optimizer before training. Weights in
        int8 are rounded again, which moves outputs by some percent; to avoid it, train and merge
        adapters before `quantize`. A thread that asks the model meanwhile gets wrong answers: merge
        before you serve.
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


def adapters(encoder):
    """Returns the paths of an encoder's adapters."""
    paths = set()
    for layer in encoder.lora_layers():
        if layer.lora_enabled:
            paths |= {layer.lora_kernel_a.path, layer.lora_kernel_b.path}
    return paths
