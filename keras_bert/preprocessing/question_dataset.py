"""Questions on contexts as batches of what a span labeler takes."""

import functools

import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.padding import trimmed
from keras_bert.preprocessing.question_windows import check_lengths, question_windows
from keras_bert.preprocessing.row_batches import (
    by_length,
    check_buckets,
    prepared,
    quarters,
    row_batches,
)
from keras_bert.readers.squad import training_answer


def question_dataset(
    examples,
    *,
    preprocessor,
    batch_size,
    document_stride=128,
    max_question_length=64,
    labelled=True,
    shuffle=False,
    seed=None,
    trim=False,
    bucket_lengths=None,
    tokens_per_batch=None,
    drop_remainder=False,
):
    """Batches of windows, `[CLS] question [SEP] part of the context [SEP]`, with their answers.

    A context that is too long for a sequence gives several windows, so there may be more rows than
    questions. A window that doesn't hold the whole answer, and each of a question that is said to
    be impossible, is labelled with the place of [CLS]. Examples without an answer to learn are
    left out. Texts are tokenized once, before training.
    Source: Devlin et al. 2019, sections 4.2 and 4.3; google-research/bert run_squad.py.

    Args:
        examples: dicts of `question`, `context` and `answers`, as `read_squad` gives them.
        preprocessor: a `BertPreprocessor`; the paper's sequences have 384 tokens.
        batch_size: int.
        document_stride: int, tokens from the beginning of a window to that of the next one.
        max_question_length: int; longer questions lose their last tokens.
        labelled: bool, whether answers are given too.
        shuffle: bool, whether windows are shuffled in each epoch.
        seed: int, of the shuffling.
        trim: bool, whether each batch is cut to its longest window, or ints, as in
            `text_dataset`.
        bucket_lengths: ints, the lengths that batches have, for instance `(128, 256, 384)`;
            windows that need the same one are batched together, as `text_dataset` does it.
        tokens_per_batch: int, in place of `batch_size`, with `bucket_lengths`.
        drop_remainder: bool, as in `text_dataset`.

    Returns:
        A `tf.data.Dataset` of the inputs' dict, or of `(inputs, labels)`, where labels is a dict
        of `start` and `end`, int32 `[B]`: the positions of the answer's first and last token.

    Raises:
        ValueError: if there are no questions, or none that can be learnt from, something is not a
            question on a context, a question of the longest length leaves no room, or the lengths
            don't do.

    Example:
    >>> from keras_bert import BertPreprocessor, BertTokenizer
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "where", "in", "par", "##is"]
    >>> preprocessor = BertPreprocessor(BertTokenizer(words), sequence_length=9)
    >>> answer = {"text": "Paris", "answer_start": 3}
    >>> data = question_dataset(
    ...     [{"question": "Where", "context": "in Paris", "answers": [answer]}],
    ...     preprocessor=preprocessor, batch_size=1, max_question_length=2,
    ... )
    >>> [(inputs, labels)] = data.as_numpy_iterator()
    >>> inputs["token_ids"].tolist(), labels["start"].tolist(), labels["end"].tolist()
    ([[2, 5, 3, 6, 7, 8, 3, 0, 0]], [4], [5])
    """
    check_buckets(bucket_lengths, tokens_per_batch, batch_size, preprocessor.sequence_length)
    check_questions(examples)
    check_lengths(preprocessor, document_stride, max_question_length)
    spans = [training_answer(example) if labelled else (0, 0) for example in examples]
    examples = [e for e, span in zip(examples, spans, strict=True) if span is not None]
    if not examples:
        raise ValueError(
            "No question has an answer to learn: a dict of 'text' and 'answer_start', the "
            "character of the context at which the text stands; or is_impossible=True."
        )
    windows = windows_of(examples, preprocessor, document_stride, max_question_length)
    rows = row_batches(
        windows.num_tokens(),
        batch_size,
        shuffle=shuffle,
        seed=seed,
        bucket_lengths=bucket_lengths,
        tokens_per_batch=tokens_per_batch,
        drop_remainder=drop_remainder,
    )
    labels = {}
    if labelled:
        labels = window_labels(windows, examples, [span for span in spans if span is not None])
        with tf.device("CPU:0"):
            labels = {name: tf.constant(places) for name, places in labels.items()}

    def prepare(rows):
        inputs = windows.inputs(rows)
        inputs = trimmed(inputs, trim, bucket_lengths)
        if not labelled:
            return inputs
        return inputs, {name: tf.gather(places, rows) for name, places in labels.items()}

    return prepared(rows, prepare)


def windows_of(examples, preprocessor, document_stride, max_question_length):
    """The `QuestionWindows` of examples; a context that they share is tokenized once."""
    numbers = {}
    context = [numbers.setdefault(e["context"], len(numbers)) for e in examples]
    with tf.device("CPU:0"):
        return question_windows(
            preprocessor,
            tf.constant([to_bytes(example["question"]) for example in examples]),
            tf.constant([to_bytes(text) for text in numbers]),
            tf.constant(context, tf.int64),
            document_stride=document_stride,
            max_question_length=max_question_length,
        )


def window_labels(windows, examples, spans):
    """Where the answers stand in each window.

    An answer begins with the token that its first character is in, and ends with that of its last.

    Args:
        windows: the `QuestionWindows` of the examples.
        examples: dicts with `context`.
        spans: `(start, end)` of each, characters of the context; an empty one for no answer.

    Returns:
        A dict of `start` and `end`, int32 `[N]`; 0, which is [CLS], where the answer isn't in the
        window.
    """
    context = windows.context.numpy()
    splits = windows.pieces.row_splits.numpy()
    starts, ends = windows.starts.flat_values.numpy(), windows.ends.flat_values.numpy()
    first, last = np.full(len(examples), -1), np.full(len(examples), -1)
    for index, (example, (start, end)) in enumerate(zip(examples, spans, strict=True)):
        if start >= end:
            continue
        start, end = byte_span(example["context"], start, end)
        tokens = slice(splits[context[index]], splits[context[index] + 1])
        left = np.searchsorted(ends[tokens], start, side="right")
        right = np.searchsorted(starts[tokens], end, side="left") - 1
        if left <= right:  # else no token holds any of it
            first[index], last[index] = left, right
    question, part = windows.question.numpy(), windows.first.numpy()
    start, end = first[question] - part, last[question] - part  # [N]
    held = (first[question] >= 0) & (start >= 0) & (end < windows.length.numpy())
    begin = windows.context_positions().numpy()
    return {
        "start": np.where(held, start + begin, 0).astype("int32"),
        "end": np.where(held, end + begin, 0).astype("int32"),
    }


def batches_by_length(windows, batch_size):
    """Batches of windows to predict, in few shapes and with little padding.

    The longest windows come first. A batch is cut to the first quarter of the sequence, or two or
    three, if its windows fit there. Where there are more than a batch, the last of a length is
    filled up with its last window.

    Args:
        windows: `QuestionWindows`.
        batch_size: int.

    Returns:
        A list of `(rows, dataset)`, one for each length: the numbers of its windows, and a
        `tf.data.Dataset` of their batches, which has a row for each, and then what fills it up.
    """
    lengths = windows.num_tokens()
    order = by_length(lengths)
    choices = np.array(quarters(windows.preprocessor.sequence_length))
    batches = [order[first : first + batch_size] for first in range(0, len(order), batch_size)]
    cuts = choices[np.searchsorted(choices, [lengths[rows[0]] for rows in batches])]

    def prepare(rows, length):
        return {name: values[:, :length] for name, values in windows.inputs(rows).items()}

    parts = []
    for cut in np.unique(cuts)[::-1]:
        rows = np.concatenate([part for part, to in zip(batches, cuts, strict=True) if to == cut])
        missing = -len(rows) % batch_size if len(order) > batch_size else 0
        dataset = tf.data.Dataset.from_tensor_slices(np.pad(rows, (0, missing), mode="edge"))
        dataset = dataset.batch(batch_size).map(functools.partial(prepare, length=cut))
        parts.append((rows, dataset.prefetch(tf.data.AUTOTUNE)))
    return parts


def check_questions(examples):
    """Raises a ValueError if something is not a question on a context."""
    if not len(examples):
        raise ValueError("There are no questions: give at least one.")
    for index, example in enumerate(examples):
        for key in ("question", "context"):
            value = example.get(key) if isinstance(example, dict) else None
            if not isinstance(value, str):
                raise ValueError(
                    "A question is a dict of two strings, {'question': ..., 'context': ...}; "
                    f"number {index} is {_shown(example)}."
                )


def to_bytes(text):
    """UTF-8; of half a surrogate pair, which JSON may hold, bytes that the tokenizer skips."""
    return text.encode("utf-8", "surrogatepass")


def byte_span(text, start, end):
    """Where characters `start` to `end` of a text stand in its UTF-8."""
    before = len(to_bytes(text[:start]))
    return before, before + len(to_bytes(text[start:end]))


def character_span(data, start, end):
    """Where bytes `start` to `end` of UTF-8 stand in the text that it is of."""
    before = len(data[:start].decode("utf-8", "surrogatepass"))
    return before, before + len(data[start:end].decode("utf-8", "surrogatepass"))


def _shown(value):
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
