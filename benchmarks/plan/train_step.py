"""A pre-training step: a batch of its shapes, its FLOPs, and its program for an absent device."""

import contextlib
from unittest import mock

import keras
import numpy as np

from keras_bert.kernels import fused_attention
from keras_bert.training.keras_internals import build_from_batch


def pretraining_batch(model, batch_size, sequence_length, max_predictions, sequences_per_row=None):
    """Returns a batch of zeros with the shapes and dtypes of `pretraining_dataset`."""

    def zeros(*shape):
        return np.broadcast_to(np.int32(0), (batch_size, *shape))

    x = {"token_ids": zeros(sequence_length), "segment_ids": zeros(sequence_length)}
    if sequences_per_row is None:
        x["padding_mask"] = zeros(sequence_length)
    else:
        x["sequence_ids"] = zeros(sequence_length)
        x["cls_positions"] = zeros(sequences_per_row)
    x["mask_positions"] = zeros(max_predictions)
    y = {"masked_lm": zeros(max_predictions)}
    if model.next_sentence:
        y["next_sentence"] = zeros() if sequences_per_row is None else zeros(sequences_per_row)
    return x, y, {name: labels.astype("float32") for name, labels in y.items()}


def pretraining_flops(backbone, sequence_length, max_predictions, next_sentence=True):
    """Counts the FLOPs of the matrix products for one training row of a `Backbone`.

    Attention counts as if each token saw all others. The backward pass takes twice the forward
    pass. Recomputation by `remat` isn't counted.
    """
    width = backbone.hidden_dim
    projections = sum(layer.kernel.shape[0] * layer.units for layer in backbone.lora_layers())
    attention = 2 * backbone.num_layers * sequence_length * width  # scores, and sums
    encoder = 2 * sequence_length * (projections + attention)
    head = max_predictions * (2 * width**2 + 2 * width * backbone.vocabulary_size)
    if next_sentence:
        head += 2 * width**2 + 2 * 2 * width  # the pooler and two classes
    return 3 * (encoder + head)


def lower_step(model, devices, batch):
    """Lowers the step that `fit` compiles on JAX, for devices that share a batch."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from keras_bert.training.jax_loop import compiled, one_or_more

    mesh = Mesh(np.array(devices), ("batch",))
    sharded = NamedSharding(mesh, PartitionSpec("batch"))
    replicated = NamedSharding(mesh, PartitionSpec())

    def shard(batch):
        return jax.tree.map(lambda v: jax.lax.with_sharding_constraint(v, sharded), batch)

    def shape(values):
        dtype = keras.backend.standardize_dtype(values.dtype)
        return jax.ShapeDtypeStruct(values.shape, dtype, sharding=replicated)

    if not model.compiled:
        model.compile(**model.default_compile_args())
    build_from_batch(model, jax.tree.map(lambda values: values[:1], batch))
    state = (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
        model.metrics_variables,
    )
    state = tuple([shape(variable) for variable in part] for part in state)
    steps = compiled(one_or_more(model.train_step, shard), replicated)
    with _computing_on(devices[0]):
        return steps.lower(state, (jax.tree.map(shape, batch),))


@contextlib.contextmanager
def _computing_on(device):
    """Answers what attention, and JAX before it calls cuDNN, ask of the device that computes."""
    from jax._src.cudnn import fused_attention_stablehlo as cudnn

    with (
        mock.patch.object(fused_attention, "jax_device", lambda: device),
        mock.patch.object(keras.config, "is_flash_attention_enabled", lambda: True),
        mock.patch.object(cudnn, "check_cudnn_version", lambda: 91200),
        mock.patch.object(cudnn, "check_compute_capability", lambda least: True),
    ):
        yield
