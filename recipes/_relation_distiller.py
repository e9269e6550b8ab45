"""Distillation of an encoder by the relations in a teacher's self-attention, without labels."""

import functools
import math

import keras
from keras import ops

import keras_bert
from keras_bert.layers.packed_rows import packed_input
from keras_bert.layers.plain_attention import Visibility, attention_scores
from keras_bert.losses import divergence
from keras_bert.messages import check_int
from keras_bert.models.task_parts import check_backbone
from keras_bert.presets.save_model import save_preset

_HEAD_WIDTH = 16  # of the teacher's relation heads in the paper: 48 heads of Base, 64 of Large


def relation_divergence(student, teacher, num_heads, visibility):
    """Computes KL(teacher || student) of relations, a mean over N heads, float32 `[B, S]`.

    Both are queries, keys or values, `[B, S, H]`, of widths H that `num_heads` divides.
    """

    def relations(part):
        shape = (*ops.shape(part)[:2], num_heads, part.shape[-1] // num_heads)
        part = ops.reshape(ops.cast(part, "float32"), shape)
        part = ops.transpose(part, (0, 2, 1, 3))  # [B, N, S, D]
        return attention_scores(part, part, visibility)  # [B, N, S, S]

    return ops.mean(divergence(relations(teacher), relations(student)), axis=1)


class Divergence(keras.layers.Layer):
    """Layer that sums `relation_divergence` over queries, keys and values: `[B, S, 1]`.

    The teacher, a model of these three, is always in inference mode. Its variables are not the
    layer's, so nothing saves them.
    """

    def __init__(self, teacher, num_heads, causal, **kwargs):
        super().__init__(**kwargs)
        self.teacher = functools.partial(teacher, training=False)  # Keras doesn't look into it
        self.num_heads = num_heads
        self.causal = causal

    def call(self, inputs, student):
        teacher = self.teacher({name: inputs.get(name) for name in self.teacher.func.input})
        sequence_ids = packed_input("sequence_ids")
        visibility = Visibility(inputs["padding_mask"], sequence_ids, self.causal)
        divergences = [
            relation_divergence(own, ops.stop_gradient(theirs), self.num_heads, visibility)
            for own, theirs in zip(student, teacher, strict=True)
        ]
        return ops.sum(ops.stack(divergences, axis=-1), axis=-1, keepdims=True)

    def compute_output_spec(self, inputs, student):
        return keras.KerasTensor((*student[0].shape[:2], 1), dtype="float32")


class RelationDistiller(keras_bert.BertTask):
    """Training of a small encoder, the student, on the self-attention of a larger one, the teacher.

    Use it before fine-tuning, on texts without labels. The queries, keys and values of a student's
    layer learn to relate tokens as the teacher's do; width, heads and layers may differ. `fit`
    takes texts in any form, or prepared inputs, such as the rows of a corpus. `save_to_preset`
    writes the student alone, for every task to load.

    The relations of a token are a softmax over the tokens that it sees. The loss is the divergence
    KL(teacher || student), a mean over relation heads and the tokens of the batch, summed over
    queries, keys and values; padding doesn't count.
    Source: Wang et al. 2021, "MiniLMv2: Multi-Head Self-Attention Relation Distillation for
    Compressing Pretrained Transformers".

    Args:
        backbone: the student, a `Backbone` with `attention_parts`, such as `BertBackbone`.
        teacher: another one, of the same vocabulary; this sets `teacher.trainable = False`.
        layer: int, the student's block that learns, from 0; -1 is the last. Those above it don't.
        teacher_layer: int, the teacher's block to learn from. The paper takes the last one of Base,
            and block 20 of 24 of Large.
        num_relation_heads: int, the heads that both widths are split into. None splits the
            teacher's into heads of 16, as the paper does, or wider ones if the student's needs it.
        preprocessor: a `BertPreprocessor`, for raw text; or None.
        **kwargs: arguments of `keras.Model`.

    Call arguments:
        inputs: a dict of the student's inputs.

    Returns:
        `[B, S, 1]` float32, the divergence of each token.

    Raises:
        ValueError: if an encoder lacks the layer or `attention_parts`, the vocabularies differ in
            size, the student has more positions, or the heads don't divide both widths.

    Example:
    >>> import tempfile
    >>> from keras_bert import BertBackbone, BertPreprocessor, BertTokenizer
    >>> from keras_bert import sizes
    >>> from _relation_distiller import RelationDistiller
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain", "in", "spain"]
    >>> teacher, student = (BertBackbone(len(words), **size) for size in (sizes.mini, sizes.tiny))
    >>> reader = BertPreprocessor(BertTokenizer(words), sequence_length=8)
    >>> model = RelationDistiller(student, teacher, preprocessor=reader)
    >>> history = model.fit(["Rain in Spain", "In rain"], epochs=2, verbose=0)
    >>> model.save_to_preset(tempfile.mkdtemp())  # for BertClassifier.from_preset
    """

    takes_labels = False
    takes_packed_rows = True  # if both encoders do

    def __init__(
        self,
        backbone,
        teacher,
        layer=-1,
        teacher_layer=-1,
        num_relation_heads=None,
        preprocessor=None,
        **kwargs,
    ):
        for each in (backbone, teacher):
            check_backbone("RelationDistiller", each)
        num_heads = _relation_heads(backbone, teacher, num_relation_heads)
        inputs = {**teacher.input, **backbone.input}  # a teacher may read segments
        parts = backbone.attention_parts(inputs, layer)  # three [B, S, H]
        theirs = keras.Model(teacher.input, teacher.attention_parts(teacher.input, teacher_layer))
        teacher.trainable = False
        head = Divergence(theirs, num_heads, backbone.causal, dtype="float32")
        super().__init__(inputs, head(inputs, parts), backbone, preprocessor, **kwargs)
        self.divergence = head
        self.takes_packed_rows = backbone.takes_packed_rows and teacher.takes_packed_rows

    @property
    def non_trainable_variables(self):
        """Those of the teacher too, which JAX otherwise compiles into the train step."""
        own = super().non_trainable_variables
        has_teacher = hasattr(self, "divergence")  # not while Keras makes it
        return [*own, *self.divergence.teacher.func.variables] if has_teacher else own

    def default_compile_args(self):
        """AdamW at 1e-4, and the mean of the tokens' divergences, whose target is 0."""
        loss = keras.losses.MeanAbsoluteError(reduction="mean_with_sample_weight")
        return {"optimizer": keras_bert.AdamW(1e-4), "loss": loss}

    def scaled_weights(self, x, y, sample_weight, training=True):
        """Weighs tokens by 1 and padding by 0; see `GlobalLoss`."""
        tokens = x.get("sequence_ids", x.get("padding_mask", ops.ones_like(x["token_ids"])))
        tokens = ops.cast(ops.cast(tokens, "bool"), "float32")  # [B, S]
        return super().scaled_weights(x, None, tokens, training)

    def loss_arguments(self, x, y, y_pred, sample_weight):
        return ops.zeros_like(y_pred), y_pred, sample_weight

    def takes_preprocessor(self, preprocessor):
        return type(preprocessor) is self.preprocessor_class()

    def save_to_preset(self, folder):
        """Writes the student with the preprocessor; see `BertBackbone.save_to_preset`."""
        save_preset(self.backbone, folder, self.preprocessor)

    def get_config(self):
        raise ValueError("A RelationDistiller isn't saved, only its student: save_to_preset.")


def _relation_heads(backbone, teacher, num_relation_heads):
    """Returns the number of relation heads of a student and a teacher that fit each other."""
    words, positions = teacher.vocabulary_size, teacher.max_sequence_length
    if backbone.vocabulary_size != words or backbone.max_sequence_length > positions:
        raise ValueError(
            f"The teacher reads rows of up to {positions} tokens with a vocabulary of {words}: the "
            f"student's {backbone.max_sequence_length} and {backbone.vocabulary_size} don't fit."
        )
    widths = backbone.hidden_dim, teacher.hidden_dim
    if num_relation_heads is None:
        return math.gcd(*widths, max(1, teacher.hidden_dim // _HEAD_WIDTH))
    check_int("num_relation_heads", num_relation_heads)
    if any(width % num_relation_heads for width in widths):
        raise ValueError(
            f"num_relation_heads={num_relation_heads} must divide the widths of student and "
            f"teacher, {widths[0]} and {widths[1]}."
        )
    return num_relation_heads
