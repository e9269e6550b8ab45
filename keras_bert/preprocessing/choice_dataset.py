"""Questions with choices as batches of what a multiple choice takes."""

import numbers

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.padding import trimmed
from keras_bert.preprocessing.question_dataset import to_bytes
from keras_bert.preprocessing.row_batches import prepared, row_batches


def choice_dataset(
    examples,
    *,
    preprocessor,
    batch_size,
    labelled=True,
    shuffle=False,
    seed=None,
    trim=False,
    bucket_lengths=None,
    tokens_per_batch=None,
    drop_remainder=False,
):
    """Batches of questions, each choice as `[CLS] context [SEP] choice [SEP]`.

    A pair that is too long loses tokens of the longer text first. Questions may have different
    numbers of choices: all get as many rows as the one with the most has, the last of them empty.
    Texts are tokenized once, before training.
    Source: Devlin et al. 2019, section 4.4.

    Args:
        examples: dicts of `context`, a str, `choices`, a list of str, and `label`, the place of
            the right one, as `read_choices` gives them. A choice of "" isn't there.
        preprocessor: a `BertPreprocessor`.
        batch_size: int, questions.
        labelled: bool, whether labels are given too.
        shuffle: bool, whether questions are shuffled in each epoch.
        seed: int, of the shuffling.
        trim: bool, whether each batch is cut to its longest sequence, or ints, as in
            `text_dataset`.
        bucket_lengths: ints, the lengths that sequences are padded to, for instance
            `(32, 64, 128)`: questions that need the same one are batched together.
        tokens_per_batch: int, in place of `batch_size`: with `bucket_lengths`, a batch has as many
            questions as make up so many tokens, of all choices and padding together.
        drop_remainder: bool, as in `text_dataset`.

    Returns:
        A `tf.data.Dataset` of the inputs' dict, int32 `[B, C, S]` each, or of `(inputs, labels)`,
        labels int32 `[B]`. What belongs to a choice that isn't there is 0 throughout.

    Raises:
        ValueError: if there are no questions, one has fewer than two choices, or a label is not
            that of a choice.

    Example:
    >>> from keras_bert import BertPreprocessor, BertTokenizer
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "it", "rains", "shines"]
    >>> preprocessor = BertPreprocessor(BertTokenizer(words), sequence_length=6)
    >>> question = {"context": "It", "choices": ["rains", "shines"], "label": 1}
    >>> data = choice_dataset([question], preprocessor=preprocessor, batch_size=1)
    >>> [(inputs, labels)] = data.as_numpy_iterator()
    >>> inputs["token_ids"].tolist(), labels.tolist()
    ([[[2, 5, 3, 6, 3, 0], [2, 5, 3, 7, 3, 0]]], [1])
    """
    check_choices(examples, labelled)
    most = max(len(example["choices"]) for example in examples)
    there = [
        (index, place, to_bytes(text))
        for index, example in enumerate(examples)
        for place, text in enumerate(example["choices"])
        if text
    ]
    question, place, texts = zip(*there, strict=True)  # [K] each
    starts = np.searchsorted(question, np.arange(len(examples) + 1))
    with tf.device("CPU:0"):
        contexts = preprocessor.tokenizer([to_bytes(example["context"]) for example in examples])
        choices = preprocessor.tokenizer(list(texts))
        starts_of, place_of = tf.constant(starts), tf.constant(place, tf.int64)
        labels = tf.constant([int(example["label"]) if labelled else 0 for example in examples])
    lengths = 3 + contexts.row_lengths().numpy()[list(question)] + choices.row_lengths().numpy()
    lengths = np.minimum(np.maximum.reduceat(lengths, starts[:-1]), preprocessor.sequence_length)

    def prepare(rows):  # [B]
        numbers = tf.ragged.range(tf.gather(starts_of, rows), tf.gather(starts_of, rows + 1))
        choice = numbers.flat_values
        inputs = choice_inputs(
            preprocessor,
            tf.gather(contexts, rows),
            tf.gather(choices, choice),
            tf.stack([numbers.value_rowids(), tf.gather(place_of, choice)], axis=1),
            (tf.shape(rows, tf.int64)[0], most),
        )
        inputs = trimmed(inputs, trim, bucket_lengths)
        return (inputs, tf.gather(labels, rows)) if labelled else inputs

    rows = row_batches(
        lengths,
        batch_size,
        shuffle=shuffle,
        seed=seed,
        bucket_lengths=bucket_lengths,
        tokens_per_batch=tokens_per_batch if tokens_per_batch is None else tokens_per_batch // most,
        drop_remainder=drop_remainder,
    )
    return prepared(rows, prepare)


def choice_inputs(preprocessor, contexts, choices, places, shape):
    """The inputs of tokenized questions, in the TensorFlow graph.

    Args:
        preprocessor: a `BertPreprocessor`.
        contexts: int32 ragged `[B, (T)]`, token ids.
        choices: int32 ragged `[K, (T)]`, those of all choices that are there.
        places: int64 `[K, 2]`, the question of each and its place among that one's choices.
        shape: `(B, C)`.

    Returns:
        A dict of int32 `[B, C, S]`, 0 where a choice isn't there.
    """
    rows = preprocessor.pack(tf.gather(contexts, places[:, 0]), choices)  # [K, S]
    length = preprocessor.sequence_length
    inputs = {
        name: tf.scatter_nd(places, values, (*tf.unstack(tf.cast(shape, tf.int64)), length))
        for name, values in rows.items()
    }
    most = shape[1] if isinstance(shape, tuple) else None
    return {name: tf.ensure_shape(values, [None, most, length]) for name, values in inputs.items()}


def check_choices(examples, labelled=False):
    """Raises a ValueError if something is not a context with choices, or a label isn't one's."""
    if not len(examples):
        raise ValueError("There are no questions: give at least one.")
    for index, example in enumerate(examples):
        context, choices = (
            example.get(key) if isinstance(example, dict) else None
            for key in ("context", "choices")
        )
        is_list = isinstance(choices, (list, tuple, np.ndarray))
        if not isinstance(context, str) or not is_list or not all(map(_is_string, choices)):
            raise ValueError(
                "A question is a dict of a string and a list of strings, {'context': ..., "
                f"'choices': [..., ...]}}; number {index} is {_shown(example)}."
            )
        there = [place for place, text in enumerate(choices) if text]
        if len(there) < 2:
            raise ValueError(
                f"Question {index} has {len(there)} choices that aren't empty: "
                f"{_shown(list(choices))}. Give it two or more."
            )
        label = example.get("label")
        is_place = isinstance(label, numbers.Integral) and not isinstance(label, (bool, np.bool_))
        if labelled and not (is_place and label in there):
            raise ValueError(
                f"Question {index} has the label {label!r}, which is none of its choices' places: "
                f"{', '.join(map(str, there))}. Number the choices of each question from 0."
            )


def _is_string(value):
    return isinstance(value, str)


def _shown(value):
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
