"""BERT with the heads of pre-training."""

import keras
import numpy as np

from keras_bert.layers.initializer import bert_initializer, dense
from keras_bert.layers.masked_lm_head import MaskedLMHead
from keras_bert.models.bert_task import BertTask
from keras_bert.training.adamw import AdamW


@keras.saving.register_keras_serializable(package="keras_bert")
class BertPretrainer(BertTask):
    """An encoder with two heads, for masked LM and next sentence prediction.

    Train it on `pretraining_dataset`. The masked-LM loss is the mean over the predicted tokens of
    the batch; the next-sentence loss is the mean over its pairs. The total is their sum.
    Source: Devlin et al. 2019, section 3.1; google-research/bert run_pretraining.py.

    Args:
        backbone: a `BertBackbone`.
        next_sentence: bool; False trains masked LM alone.
        preprocessor: a `BertPreprocessor`, saved with the model and its presets; or None.
        masked_lm_activation: activation of the masked-LM head; None means the backbone's.
        masked_lm_epsilon: float, for the head's LayerNorm; None means the backbone's.
        tie_embeddings: bool; False gives the head its own table instead of the encoder's.
        **kwargs: arguments of `keras.Model`.

    Call arguments:
        inputs: a dict of the backbone's inputs and
            `mask_positions`: `[B, P]` int32, the masked positions.

    Returns:
        A dict of `masked_lm`, logits `[B, P, V]`, and `next_sentence`, logits `[B, 2]`, both
        float32. Class 1 of `next_sentence` means that the second sentence is a random one.

    Example:
    >>> import numpy as np
    >>> from keras_bert import BertBackbone, BertPretrainer, sizes
    >>> model = BertPretrainer(BertBackbone(vocabulary_size=100, **sizes.tiny))
    >>> inputs = {"token_ids": np.array([[2, 4, 42, 3]]), "mask_positions": np.array([[1]])}
    >>> {name: tuple(logits.shape) for name, logits in model(inputs).items()}
    {'masked_lm': (1, 1, 100), 'next_sentence': (1, 2)}
    """

    def __init__(
        self,
        backbone,
        next_sentence=True,
        preprocessor=None,
        masked_lm_activation=None,
        masked_lm_epsilon=None,
        tie_embeddings=True,
        **kwargs,
    ):
        if masked_lm_activation is None:
            masked_lm_activation = backbone.activation
        if masked_lm_epsilon is None:
            masked_lm_epsilon = backbone.layer_norm_epsilon
        table = backbone.token_embedding if tie_embeddings else own_table(backbone)
        masked_lm_head = MaskedLMHead(
            table, masked_lm_activation, masked_lm_epsilon, name="masked_lm"
        )
        mask_positions = keras.Input((None,), dtype="int32", name="mask_positions")
        inputs = {**backbone.input, "mask_positions": mask_positions}
        encoded = backbone(backbone.input)
        outputs = {"masked_lm": masked_lm_head(encoded["sequence_output"], mask_positions)}
        if next_sentence:
            next_sentence_head = dense(2, "next_sentence")
            logits = next_sentence_head(encoded["pooled_output"])  # [B, 2]
            outputs["next_sentence"] = keras.ops.cast(logits, "float32")
        super().__init__(inputs, outputs, backbone, preprocessor, **kwargs)
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

    def fill_mask(self, texts, top_k=5, batch_size=32):
        """Finds the most probable tokens for each [MASK] of each text.

        Args:
            texts: a str, or a list of them, with "[MASK]" in place of each token to find.
            top_k: int, the number of tokens to return.
            batch_size: int, the number of texts that the model takes at once.

        Returns:
            A list for each text; it holds a list for each masked token, of `top_k` dicts with
            `token`, a str, and `score`, its probability. The best comes first. A single str
            returns its list alone.

        Raises:
            ValueError: if a text has no [MASK], or the model has no preprocessor.

        Example:
        >>> from keras_bert import BertBackbone, BertPreprocessor, BertTokenizer, sizes
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain", "in", "spain"]
        >>> model = BertPretrainer(
        ...     BertBackbone(vocabulary_size=len(words), **sizes.tiny),
        ...     preprocessor=BertPreprocessor(BertTokenizer(words)),
        ... )
        >>> [best] = model.fill_mask("Rain in [MASK]", top_k=1)[0]
        >>> best["token"] in words, 0 < best["score"] <= 1
        (True, True)
        """
        if isinstance(texts, str):
            return self.fill_mask([texts], top_k)[0]
        if self.preprocessor is None:
            raise ValueError(
                "fill_mask reads text, and this BertPretrainer has no preprocessor. Make it with "
                "preprocessor=BertPreprocessor(tokenizer), or start from a preset that has one."
            )
        from keras_bert.preprocessing.masked_text import masked_inputs

        tokens = self.preprocessor.tokenizer.get_vocabulary()
        answers = []
        for start in range(0, len(texts), batch_size):
            inputs, counts = masked_inputs(texts[start : start + batch_size], self.preprocessor)
            logits = self.predict_on_batch(inputs)["masked_lm"][..., : len(tokens)]  # [B, P, V]
            scores = keras.ops.convert_to_numpy(keras.ops.softmax(logits, axis=-1))
            best = np.argsort(-scores, axis=-1, kind="stable")[..., :top_k]  # [B, P, top_k]
            answers += [
                [
                    [{"token": tokens[i], "score": float(scores[row, slot, i])} for i in ids]
                    for slot, ids in enumerate(best[row, :count])
                ]
                for row, count in enumerate(counts)
            ]
        return answers

    def get_config(self):
        return {
            **super().get_config(),
            "next_sentence": self.next_sentence,
            "masked_lm_activation": self.masked_lm_activation,
            "masked_lm_epsilon": self.masked_lm_epsilon,
            "tie_embeddings": self.tie_embeddings,
        }

    def _takes(self, preprocessor):
        return type(preprocessor).answers is self.preprocessor_class().answers


def own_table(backbone):
    """Makes a table for the masked-LM head alone, in the shape of the encoder's."""
    return keras.layers.ReversibleEmbedding(
        backbone.vocabulary_size,
        backbone.hidden_dim,
        embeddings_initializer=bert_initializer(),
        name="decoder",
    )
