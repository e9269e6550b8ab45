"""The contract of encoders that tasks build on."""

import keras

from keras_bert.layers.dense_and_norms import EPSILON
from keras_bert.messages import check_int, check_number
from keras_bert.models.compiling import Retracing
from keras_bert.models.keras_model import Model
from keras_bert.models.lora import AdaptedLayers, adapters
from keras_bert.models.precision import policy_config
from keras_bert.models.row_inputs import RowInputs
from keras_bert.presets.preset import PresetModel
from keras_bert.presets.preset_arguments import check_passed_on, layers_config, model_from_config
from keras_bert.presets.published import Published
from keras_bert.saved import own_arguments, saved_arguments
from keras_bert.serving.export_model import export_model
from keras_bert.training.keras_internals import all_layers, merge_lora
from keras_bert.training.strategy import scope_of


class Backbone(PresetModel, Retracing, RowInputs, Model):
    """An encoder of token ids, on which any task of this library works.

    Subclass it for an encoder of your own: make the layers, call them, give their inputs, outputs
    and sizes to `super().__init__`, and register the class for Keras. Arguments of your
    constructor are saved; of an attribute of the same name, the current value.
    Layers that mix tokens read `packed_input("sequence_ids")`, or the class sets
    `takes_packed_rows = False`. Override `hidden_states` for an embedder of several layers,
    `token_embedding` for tied tables, and `unused_by` if heads leave variables without a gradient.

    Args:
        inputs: a dict of Keras inputs `[B, S]`: `token_ids`, `padding_mask`, which is optional in
            calls, and perhaps `segment_ids`, optional too.
        outputs: a dict of `sequence_output`, `[B, S, H]`, and perhaps `pooled_output`, `[B, H]`.
        embeddings: the layer that makes vectors of token ids.
        blocks: list of the L layers above it, from bottom to top. A block may have an attribute
            `remat`.
        vocabulary_size: int, V, the number of tokens in the vocabulary.
        hidden_dim: int, H, the width of a token's vector.
        max_sequence_length: int, the length of the longest row.
        head: a layer from `[..., H]` to `[..., H]` that all pre-trained heads begin with; or None.
        trainable: bool; False freezes the encoder, as `freeze` does.
        **kwargs: `name` and `dtype`.

    Raises:
        ValueError: if inputs, outputs or blocks aren't as described.

    Example:
    >>> from keras_bert import Backbone, BertBackbone, sizes
    >>> backbone = BertBackbone(vocabulary_size=100, **sizes.tiny)
    >>> isinstance(backbone, Backbone), len(backbone.lora_layers())
    (True, 8)
    """

    takes_packed_rows = True
    published = Published(
        pipeline="feature-extraction",
        javascript_pipeline="feature-extraction",
        head="Model",
        purpose="encodes texts, a vector for each token",
    )
    architecture = None  # in the files of other libraries, such as "bert"; None if they have none
    preprocessor = None  # tasks have one
    published_source = None  # what its training started from
    size_names = ("vocabulary_size", "hidden_dim", "max_sequence_length")  # see least_values
    num_segments = 1  # of `segment_ids`
    embedding_dim = None  # of the token table; None for `hidden_dim`
    activation = "gelu"  # of a masked-LM head
    layer_norm_epsilon = EPSILON  # of a masked-LM head

    def __init__(
        self,
        inputs,
        outputs,
        *,
        embeddings,
        blocks,
        vocabulary_size,
        hidden_dim,
        max_sequence_length,
        head=None,
        trainable=True,
        **kwargs,
    ):
        check_passed_on(type(self), kwargs)
        shapes = keras.tree.map_structure(lambda output: output.shape, outputs)
        states = shapes.get("sequence_output", ()) if isinstance(outputs, dict) else ()
        has_ids = isinstance(inputs, dict) and {"token_ids", "padding_mask"} <= inputs.keys()
        blocks = list(blocks or ())
        if not (has_ids and states[1:] == (None, hidden_dim) and blocks):
            raise ValueError(
                "A Backbone takes token_ids and padding_mask, has blocks, and returns a "
                f"sequence_output of [B, S, {hidden_dim}], in dicts. {type(self).__name__} takes "
                f"{', '.join(map(str, inputs))}, has {len(blocks)} blocks, and returns {shapes}."
            )
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)
        self.adapted = None  # the layers with LoRA
        self.embeddings = embeddings
        self.blocks = blocks
        self.head = head
        self.num_layers = len(blocks)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.max_sequence_length = max_sequence_length
        self.mark_depths()
        if not trainable:  # Keras would set it before the model has its layers
            self.trainable = False

    @property
    def backbone(self):
        """This model: code for tasks and encoders asks both for their backbone."""
        return self

    def __dir__(self):  # Keras loads all that is listed, and would recurse forever
        return [name for name in super().__dir__() if name != "backbone"]

    @classmethod
    def least_values(cls, sizes):
        """Computes the least number of weights, to refuse smaller files, from a dict of sizes."""
        return sizes["vocabulary_size"] * sizes["hidden_dim"]

    @classmethod
    def check_layers(cls, layers, config):
        """Raises a ValueError unless these blocks, renumbered from 0, are an encoder, too.

        Override it for `from_preset(keep_layers=)`, which needs an argument `num_layers`.
        """
        raise ValueError(f"The layers of {cls.__name__} may differ: leave keep_layers out.")

    @property
    def token_embedding(self):
        """The token table, a `keras.layers.ReversibleEmbedding`."""
        name = type(self).__name__
        raise ValueError(f"{name} has no token_embedding: pass tie_embeddings=False.")

    @property
    def remat(self):
        """Whether blocks are recomputed for the gradients; see `BertBackbone`."""
        return getattr(self.blocks[0], "remat", False)

    @remat.setter
    def remat(self, value):
        if value and not all(hasattr(block, "remat") for block in self.blocks):
            raise ValueError(f"The blocks of {type(self).__name__} have no remat.")
        for block in self.blocks:
            block.remat = value

    def hidden_states(self, inputs):
        """Computes the outputs of the embeddings and of all blocks, a list of `[B, S, H]`."""
        raise ValueError(f"{type(self).__name__} gives the vectors of its last layer alone.")

    def token_vectors(self, inputs):
        """Computes the input of heads of tokens, `[B, S, H]`."""
        x = self(inputs)["sequence_output"]
        return x if self.head is None else self.head(x)

    def unused_by(self, output):
        """Lists the variables that an output doesn't depend on.

        It is `"pooled_output"`, `"sequence_output"`, or `"token_vectors"` for that method's.
        """
        return []

    def lora_layers(self):
        """Lists the layers that LoRA adapts: the dense layers of all blocks."""
        layers = [layer for block in self.blocks for layer in all_layers(block)]
        return [layer for layer in layers if isinstance(layer, keras.layers.Dense)]

    def enable_lora(self, rank, alpha=None):
        """Freezes the encoder and adds low-rank adapters, as `BertTask.enable_lora`."""
        check_int("rank", rank)
        if alpha is not None:
            check_number("alpha", alpha, above=0)
        if adapters(self):
            raise ValueError("This model has LoRA adapters already: call merge_lora first.")
        with scope_of(self):
            for layer in self.lora_layers():
                layer.enable_lora(int(rank), lora_alpha=alpha)
        self.mark_depths()
        paths = adapters(self)
        for variable in self.weights:
            variable.trainable = variable.path in paths
        self.adapted = AdaptedLayers(self.lora_layers())

    def merge_lora(self):
        """Adds the adapters to the weights and removes them, as `BertTask.merge_lora`."""
        adapted = [layer for layer in self.lora_layers() if layer.lora_enabled]
        for layer in adapted:
            merge_lora(layer)
        if adapted:
            self.unfreeze()

    def freeze(self, up_to=None):
        """Freezes the encoder, or its embeddings and first blocks; the layers above them train.

        A call replaces the one before: `freeze(up_to=4)`, then `freeze(up_to=2)`, unfreezes two
        blocks. It takes effect in a task's next `fit`, or when a model of your own is compiled. An
        optimizer that has trained before doesn't know what is unfrozen: compile with a new one.

        Args:
            up_to: int, the number of blocks; 0 for the embeddings alone. None freezes everything.

        Raises:
            ValueError: if there are fewer blocks, or the encoder has LoRA adapters.

        Example:
        >>> from keras_bert import BertBackbone, sizes
        >>> backbone = BertBackbone(vocabulary_size=100, **sizes.tiny)
        >>> backbone.freeze(up_to=1)
        >>> [block.trainable for block in backbone.blocks]
        [False, True]
        """
        if adapters(self):
            raise ValueError("LoRA has frozen this encoder: call merge_lora first.")
        if up_to is not None:
            check_int("up_to", up_to, at_least=0, at_most=self.num_layers)
        self.unfreeze()
        frozen = [self] if up_to is None else [self.embeddings, *self.blocks[:up_to]]
        for layer in frozen:
            layer.trainable = False

    def unfreeze(self):
        """Lets all layers train again; `backbone.trainable = True` does nothing if it is True."""
        for value in (False, True):  # TensorFlow ignores the value that a layer has already
            for layer in all_layers(self):
                layer.trainable = value

    def mark_depths(self):
        """Sets `layers_to_head`, for `AdamW(layer_decay=...)`: 1 in the last block, 2 below it."""
        for depth, layer in enumerate([*reversed(self.blocks), self.embeddings], start=1):
            for variable in layer.variables:
                variable.layers_to_head = depth

    def export(self, filepath, format="tf_saved_model", **kwargs):
        """Writes a model of token ids for ONNX Runtime, LiteRT or OpenVINO, as `BertTask`."""
        return export_model(self, filepath, format, **kwargs)

    def get_config(self):
        return {
            **saved_arguments(self, own_arguments(self)),
            "name": self.name,
            "trainable": self.trainable,
            **policy_config(self),
            **layers_config(self),
        }

    @classmethod
    def from_config(cls, config):
        return model_from_config(cls, config)

    def __repr__(self):
        if getattr(self, "num_layers", None) is None:  # while Keras makes it
            return super().__repr__()
        names = ("vocabulary_size", "num_layers", "num_heads", "hidden_dim")
        sizes = [f"{name}={getattr(self, name)}" for name in names if hasattr(self, name)]
        return f"{type(self).__name__}({', '.join(sizes)}: {self.count_params():,} weights)"


def token_inputs(names, shape=(None,)):
    """Makes int32 Keras inputs by name; all but `token_ids` are optional."""
    return {
        name: keras.Input(shape, dtype="int32", name=name, optional=name != "token_ids")
        for name in names
    }
