"""The most probable tokens in place of [MASK]: a method of `BertPretrainer`."""

import keras
import numpy as np

from keras_bert.messages import check_int, shown
from keras_bert.models.task_data import reader_of


def fill_mask(model, texts, top_k=5, batch_size=32):
    """Finds the most probable tokens for each [MASK] of each text.

    Args:
        model: a `BertPretrainer`.
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
    >>> from keras_bert import BertBackbone, BertPreprocessor, BertPretrainer, BertTokenizer, sizes
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain", "in", "spain"]
    >>> model = BertPretrainer(
    ...     BertBackbone(vocabulary_size=len(words), **sizes.tiny),
    ...     preprocessor=BertPreprocessor(BertTokenizer(words)),
    ... )
    >>> [best] = model.fill_mask("Rain in [MASK]", top_k=1)[0]
    >>> best["token"] in words, 0 < best["score"] <= 1
    (True, True)
    """
    check_int("top_k", top_k)
    check_int("batch_size", batch_size)
    if model.backbone.causal:
        raise ValueError(
            "fill_mask needs a model that sees the words on both sides of a [MASK]; this one is "
            "causal. score_texts says how probable it finds texts."
        )
    if isinstance(texts, str):
        return fill_mask(model, [texts], top_k)[0]
    if not isinstance(texts, (list, tuple)):
        raise ValueError(f"fill_mask takes a str or a list of them; got {shown(texts)}.")
    reader = reader_of(model)
    from keras_bert.preprocessing.masked_text import masked_inputs

    tokens = reader.tokenizer.get_vocabulary()
    answers = []
    for start in range(0, len(texts), batch_size):
        inputs, counts = masked_inputs(texts[start : start + batch_size], reader)
        logits = model.predict_on_batch(inputs)["masked_lm"][..., : len(tokens)]  # [B, P, V]
        scores = keras.ops.convert_to_numpy(keras.ops.softmax(logits, axis=-1))
        best = np.argsort(-scores, axis=-1, kind="stable")[..., :top_k]  # [B, P, top_k]
        for row, count in enumerate(counts):
            slots = zip(best[row, :count], scores[row, :count], strict=True)
            answers.append([[_word(tokens, i, of) for i in ids] for ids, of in slots])
    return answers


def _word(tokens, number, scores):
    """Returns a token with its score."""
    return {"token": tokens[number], "score": float(scores[number])}
