"""Low-rank adapters of a task's encoder."""

import contextlib

import keras


class AdaptedLayers(keras.layers.Layer):
    """Saves weights and adapters separately; Keras saves their sums and loads zeros as adapters.

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
