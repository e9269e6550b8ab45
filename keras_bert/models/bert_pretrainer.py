"""BERT with the heads of pre-training."""

import re
from collections.abc import Callable

import keras
import numpy as np

from keras_bert.layers.dense_and_norms import dense, table
from keras_bert.layers.masked_lm_head import HeadTransform, MaskedLMHead
from keras_bert.losses import LogitCrossentropy
from keras_bert.messages import check_int, shown
from keras_bert.models.bert_task import BertTask
from keras_bert.models.task_parts import head_policy
from keras_bert.preprocessing.bert_preprocessor import preprocessor_of
from keras_bert.preprocessing.text_rows import TextRows
from keras_bert.presets.published import Published
from keras_bert.saved import registered
from keras_bert.text import numpy_ops
from keras_bert.text.base_tokenizer import as_str
from keras_bert.text.tokens import Tokens
from keras_bert.text.vocabulary import MASK
from keras_bert.training.adamw import AdamW


@registered
class BertPretrainer(BertTask):
    """An encoder with two heads, for masked LM and next sentence prediction.

    Train it on `pretraining_dataset`. The loss is the sum of the masked-LM loss, the mean over the
    predicted tokens of the batch, and the next-sentence loss, the mean over its pairs.
    Source: Devlin et al. 2019, section 3.1; google-research/bert run_pretraining.py.

    Args:
        next_sentence: bool; False trains only masked LM; required for encoders with a `head`.
        masked_lm_activation: activation of the masked-LM head; None means the backbone's.
        masked_lm_epsilon: float, for the head's LayerNorm; None means the backbone's.
        tie_embeddings: bool; False gives the head its own table instead of the encoder's.
        **kwargs: those of `BertTask`, like all arguments that aren't listed.

    Call arguments:
        inputs: a dict of the backbone's inputs and
            `mask_positions`: `[B, P]` int32, the masked positions.

    Returns:
        A dict of `masked_lm`, logits `[B, P, V]`, and `next_sentence`, logits `[B, 2]`, or
        `[B, K, 2]` for packed rows, all float32. Class 1 of `next_sentence` means that the second
        text is a random one.

    Raises:
        ValueError: if an encoder with a `head` is to predict next sentences.

    Example:
    >>> import numpy as np
    >>> from keras_bert import BertBackbone, BertPretrainer, sizes
    >>> model = BertPretrainer(BertBackbone(vocabulary_size=100, **sizes.tiny))
    >>> inputs = {"token_ids": np.array([[2, 4, 42, 3]]), "mask_positions": np.array([[1]])}
    >>> {name: tuple(logits.shape) for name, logits in model(inputs).items()}
    {'masked_lm': (1, 1, 100), 'next_sentence': (1, 2)}
    """

    published = Published(
        pipeline="fill-mask",
        head="ForMaskedLM",
        purpose="predicts masked words",
        example='fill_mask("Paris is the [MASK] of France.", top_k=3)',
    )

    predict: Callable[..., dict[str, np.ndarray]]

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
        output = "pooled_output" if next_sentence else "sequence_output"
        policy = head_policy(self, backbone, dtype, output)
        if next_sentence and backbone.head is not None:
            raise ValueError(
                f"A {type(backbone).__name__} is trained on no next sentences: pass "
                "next_sentence=False."
            )
        if masked_lm_activation is None:
            masked_lm_activation = backbone.activation
        if masked_lm_epsilon is None:
            masked_lm_epsilon = backbone.layer_norm_epsilon
        width = backbone.embedding_dim or backbone.hidden_dim
        if tie_embeddings:
            decoder = backbone.token_embedding
        else:
            decoder = table(backbone.vocabulary_size, width, "decoder", dtype=policy)
        transform = backbone.head or HeadTransform(
            width, masked_lm_activation, masked_lm_epsilon, name="transform", dtype=policy
        )
        masked_lm_head = MaskedLMHead(decoder, transform, name="masked_lm", dtype=policy)
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
    def takes_packed_rows(self):
        return self.backbone.takes_packed_rows

    @property
    def reads(self):
        return "pooled_output" if self.next_sentence else "token_vectors"

    def default_compile_args(self):
        """AdamW at 1e-4, both losses, and the accuracy of each."""
        accuracy = "accuracy" if self.next_sentence else "masked_lm_accuracy"  # Keras adds names
        losses = {}
        metrics = {}
        for name in self.output:
            losses[name] = LogitCrossentropy(name=name)
            metrics[name] = [keras.metrics.SparseCategoricalAccuracy(name=accuracy)]
        return {"optimizer": AdamW(1e-4), "loss": losses, "weighted_metrics": metrics}

    def fill_mask(self, texts, top_k=5, batch_size=32, targets=None):
        """Finds the most probable tokens for each [MASK] of each text.

        Args:
            texts: a str, or a list of them, with "[MASK]" in place of each token to find.
            top_k: int, the number of tokens to return.
            batch_size: int, the number of texts that the model takes at once.
            targets: list of words, each one token, to score in place of the `top_k`; or None.

        Returns:
            A list for each text; it holds a list for each masked token, of `top_k` dicts with
            `token`, a str, and `score`, its probability. The best comes first. For a single
            str, its list alone.

        Raises:
            ValueError: if a text has no [MASK], the model has no preprocessor, or a target isn't
                one token.

        Example:
        >>> from keras_bert import BertBackbone, BertPreprocessor, BertPretrainer
        >>> from keras_bert import BertTokenizer, sizes
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain", "in", "spain"]
        >>> reader = BertPreprocessor(BertTokenizer(words))
        >>> model = BertPretrainer(BertBackbone(8, **sizes.tiny), preprocessor=reader)
        >>> [best] = model.fill_mask("Rain in [MASK]", top_k=1)[0]
        >>> best["token"] in words, 0 < best["score"] <= 1
        (True, True)
        """
        check_int("top_k", top_k)
        check_int("batch_size", batch_size)
        if isinstance(texts, str):
            return self.fill_mask([texts], top_k, batch_size, targets)[0]
        preprocessor = preprocessor_of(self)
        tokenizer = preprocessor.tokenizer
        num_tokens = tokenizer.vocabulary_size()
        chosen = np.arange(num_tokens)
        if targets is not None:
            chosen = _ids_of_targets(targets, tokenizer)
            top_k = len(chosen)
        answers = []
        for start in range(0, len(texts), batch_size):
            inputs, counts = masked_inputs(texts[start : start + batch_size], preprocessor)
            logits = self.predict_on_batch(inputs)["masked_lm"][..., :num_tokens]  # [B, P, V]
            scores = keras.ops.convert_to_numpy(keras.ops.softmax(logits, axis=-1))
            order = np.argsort(-scores[..., chosen], axis=-1, kind="stable")
            best = chosen[order[..., :top_k]]  # [B, P, top_k]
            for row, count in enumerate(counts):
                slots = zip(best[row, :count], scores[row, :count], strict=True)
                answers.append([_words(tokenizer, ids, of) for ids, of in slots])
        return answers

    def _takes(self, preprocessor):
        return type(preprocessor).answers is self.preprocessor_class().answers


def _words(tokenizer, ids, scores):
    return [{"token": tokenizer.text_of(i), "score": float(scores[i])} for i in ids]


def _ids_of_targets(targets, tokenizer):
    ids = []
    for word in [targets] if isinstance(targets, str) else targets:
        pieces, _ = tokenizer.ids_of_words([word])
        if len(pieces) != 1 or tokenizer.unk_token_id in pieces:
            raise ValueError(f"A target must be one token of the vocabulary; got {word!r}.")
        ids += list(pieces)
    if not ids:
        raise ValueError("targets must name at least one token; leave them out to choose from all.")
    return np.array(ids)


def masked_inputs(texts, preprocessor):
    """Tokenizes B texts in which "[MASK]" is a masked token; each text has at least one.

    Returns the inputs, with `mask_positions` `[B, P]`, and each text's number of masks.
    """
    tokenizer = preprocessor.tokenizer
    rows = [_with_masks(as_str("A text", text), tokenizer) for text in texts]
    lengths = np.array([len(row) for row in rows], "int64")
    tokens = Tokens.of(np.concatenate(rows), lengths, numpy_ops)
    [inputs] = TextRows(preprocessor.packer, (tokens,)).as_batch()
    positions = []
    counts = []
    for index, row in enumerate(rows):
        count = np.count_nonzero(row == tokenizer.mask_token_id)
        is_mask = inputs["token_ids"][index] == tokenizer.mask_token_id
        if np.count_nonzero(is_mask) < count:
            room = preprocessor.sequence_length - 2  # without [CLS] and [SEP]
            raise ValueError(
                f"A text has a [MASK] beyond the {room} tokens read: {shown(texts[index])}."
            )
        positions.append(np.flatnonzero(is_mask))
        counts.append(count)
    inputs["mask_positions"] = keras.utils.pad_sequences(positions, padding="post")
    return inputs, counts


def _with_masks(text, tokenizer):
    """Tokenizes a text with "[MASK]" as the masked token."""
    # Like a token of RoBERTa's, a mask includes the space before it.
    pieces = re.split(rf"\s*{re.escape(MASK)}", text)
    if len(pieces) == 1:
        raise ValueError(f"There is no [MASK] in {text!r}: write it in place of a word.")
    chunks = []
    for ids in numpy_ops.from_row_lengths(*tokenizer.flat_ids(pieces)):
        chunks += [[tokenizer.mask_token_id], ids]
    return np.concatenate(chunks[1:], dtype="int32")  # no mask precedes the first piece
