"""BERT with the heads of pre-training."""

import keras

from keras_bert.arguments import check_bool
from keras_bert.layers.initializer import dense
from keras_bert.layers.masked_lm_head import MaskedLMHead, decoder_table
from keras_bert.models import filling, scoring
from keras_bert.models.bert_task import BertTask
from keras_bert.models.precision import head_policy
from keras_bert.models.task_parts import check_backbone
from keras_bert.training.adamw import AdamW


@keras.saving.register_keras_serializable(package="keras_bert")
class BertPretrainer(BertTask):
    """An encoder with two heads, for masked LM and next sentence prediction.

    Train it on `pretraining_dataset`. The masked-LM loss is the mean over the predicted tokens of
    the batch; the next-sentence loss is the mean over its pairs. The total is their sum. A causal
    encoder learns to predict the next word instead, from data made with `left_to_right=True`.
    Source: Devlin et al. 2019, section 3.1; google-research/bert run_pretraining.py.

    Args:
        backbone: a `BertBackbone`.
        next_sentence: bool; False trains masked LM alone, and is needed for a causal encoder.
        preprocessor: a `BertPreprocessor`, saved with the model and its presets; or None.
        masked_lm_activation: activation of the masked-LM head; None means the backbone's.
        masked_lm_epsilon: float, for the head's LayerNorm; None means the backbone's.
        tie_embeddings: bool; False gives the head its own table instead of the encoder's.
        dtype: the dtype policy of the heads, as of `BertBackbone`; None means the backbone's.
        **kwargs: arguments of `keras.Model`.

    Call arguments:
        inputs: a dict of the backbone's inputs and
            `mask_positions`: `[B, P]` int32, the masked positions.

    Returns:
        A dict of `masked_lm`, logits `[B, P, V]`, and `next_sentence`, logits `[B, 2]`, or
        `[B, K, 2]` for packed rows, all float32. Class 1 of `next_sentence` means that the second
        text is a random one. In a causal encoder the logits at a position are those of the word
        after it.

    Raises:
        ValueError: if a causal encoder is to predict next sentences.

    Example:
    >>> import numpy as np
    >>> from keras_bert import BertBackbone, BertPretrainer, sizes
    >>> model = BertPretrainer(BertBackbone(vocabulary_size=100, **sizes.tiny))
    >>> inputs = {"token_ids": np.array([[2, 4, 42, 3]]), "mask_positions": np.array([[1]])}
    >>> {name: tuple(logits.shape) for name, logits in model(inputs).items()}
    {'masked_lm': (1, 1, 100), 'next_sentence': (1, 2)}
    """

    fill_mask = filling.fill_mask
    score_texts = scoring.score_texts
    minimal_pair_accuracy = scoring.minimal_pair_accuracy

    def __init__(
        self,
        backbone,
        next_sentence=True,
        preprocessor=None,
        masked_lm_activation=None,
        masked_lm_epsilon=None,
        tie_embeddings=True,
        dtype=None,
        **kwargs,
    ):
        check_bool("next_sentence", next_sentence)
        output = "pooled_output" if next_sentence else "sequence_output"
        check_backbone("BertPretrainer", backbone, output)
        check_bool("tie_embeddings", tie_embeddings)
        if next_sentence and backbone.causal:
            raise ValueError(
                "A causal encoder is trained to predict the next word, not the next sentence: pass "
                "next_sentence=False."
            )
        policy = head_policy(dtype, backbone)
        if masked_lm_activation is None:
            masked_lm_activation = backbone.activation
        if masked_lm_epsilon is None:
            masked_lm_epsilon = backbone.layer_norm_epsilon
        table = backbone.token_embedding if tie_embeddings else decoder_table(backbone, policy)
        masked_lm_head = MaskedLMHead(
            table, masked_lm_activation, masked_lm_epsilon, name="masked_lm", dtype=policy
        )
        mask_positions = keras.Input((None,), dtype="int32", name="mask_positions")
        inputs = {**backbone.input, "mask_positions": mask_positions}
        encoded = backbone(backbone.input)
        outputs = {"masked_lm": masked_lm_head(encoded["sequence_output"], mask_positions)}
        if next_sentence:
            next_sentence_head = dense(2, "next_sentence", dtype=policy)
            logits = next_sentence_head(encoded["pooled_output"])  # [B, 2]
            outputs["next_sentence"] = keras.ops.cast(logits, "float32")
        super().__init__(inputs, outputs, backbone, preprocessor, dtype, **kwargs)
        self.masked_lm_head = masked_lm_head
        if next_sentence:
            self.next_sentence_head = next_sentence_head
        self.next_sentence = next_sentence
        self.masked_lm_activation = masked_lm_activation
        self.masked_lm_epsilon = masked_lm_epsilon
        self.tie_embeddings = tie_embeddings

    @property
    def uses_pooler(self):
        """Whether the model predicts next sentences."""
        return self.next_sentence

    def default_compile_args(self):
        """AdamW at 1e-4, both losses, and the accuracy of each."""
        outputs = ["masked_lm", "next_sentence"] if self.next_sentence else ["masked_lm"]
        accuracy = "accuracy" if self.next_sentence else "masked_lm_accuracy"  # Keras adds names
        return {
            "optimizer": AdamW(1e-4),
            "loss": {
                name: keras.losses.SparseCategoricalCrossentropy(
                    from_logits=True, reduction="mean_with_sample_weight", name=name
                )
                for name in outputs
            },
            "weighted_metrics": {
                name: [keras.metrics.SparseCategoricalAccuracy(name=accuracy)] for name in outputs
            },
        }

    def get_config(self):
        return {
            **super().get_config(),
            "next_sentence": self.next_sentence,
            "masked_lm_activation": self.masked_lm_activation,
            "masked_lm_epsilon": self.masked_lm_epsilon,
            "tie_embeddings": self.tie_embeddings,
        }

    def takes_preprocessor(self, preprocessor):
        return type(preprocessor).answers is self.preprocessor_class().answers
