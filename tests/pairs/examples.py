"""Tiny examples of every task, in every form that people give them."""

import functools
import tempfile
from pathlib import Path

import keras
import numpy as np

import keras_bert
from keras_bert import Batching

# Of a sequence, of examples, of a batch: the last batch has fewer rows than parts and devices.
LENGTH, NUMBER, ROWS = 16, 10, 4
LETTERS = "abcdefghijklmnopqrstuvwxy"
NAMES = {"binary": ["no", "yes"], "labels": ["x", "y", "z"], "tags": ["O", "B-X", "I-X"]}
NAMES["regression of several"] = ["valence", "arousal"]
NAMES |= dict.fromkeys(("classes", "pairs", "windows", "features"), ["low", "mid", "high"])
WHOLE = 128  # rows of a batch that holds all examples


def texts(number, most, seed):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, most, number)
    return [" ".join(generator.choice(list(LETTERS), length)) for length in lengths]


def examples(task, labels, number=NUMBER, seed=1):
    """Returns `(x, y)` of a task in lists; several texts of an example are a tuple of lists."""
    generator = np.random.default_rng(seed + 100)
    one, other, third = (texts(number, 12, seed + i) for i in (10, 20, 30))
    if task == "spans":
        return questions(one, texts(number, 30, seed + 40), generator), None
    if task == "choices":
        return [
            {"context": a[:9], "choices": [b, c, "b"][: 2 + i % 2], "label": i % 2}
            for i, (a, b, c) in enumerate(zip(one, other, third, strict=True))
        ], None
    features = generator.normal(5, 2, (number, 2)).astype("float32")
    x = {
        "tags": [text.split() for text in one],
        "windows": texts(number, 30, seed + 50),
        "features": {"text": one, "features": features},
        **dict.fromkeys(("embedder of triplets", "reranker of triplets"), (one, other, third)),
        **dict.fromkeys(("pairs", "embedder of pairs"), (one, other)),
        **dict.fromkeys(("embedder of scores", "reranker"), (one, other)),
    }.get(task, one)
    if labels == "in the examples":
        return x, None
    if task == "regression of several":
        return x, generator.uniform(0, 1, (number, 2)).round(3).tolist()
    if task in ("regression", "embedder of scores", "reranker", "reranker of triplets"):
        return x, generator.uniform(0, 1, number).round(3).tolist()
    names = NAMES.get(task, ["low", "mid", "high"])
    number_of = np.arange(len(names))
    form = {"names": np.array(names), "one-hot": np.eye(len(names))}.get(labels, number_of)
    if task == "labels":
        hot = generator.integers(0, 2, (number, 3)).tolist()
        if labels == "one-hot":
            return x, hot
        return x, [[n for n, is_one in zip(names, row, strict=True) if is_one] for row in hot]
    if task == "tags":
        # Of the first two: what is inside of no span isn't a tag.
        return x, [form[generator.integers(0, 2, len(words))].tolist() for words in x]
    classes = np.arange(number)
    if task == "embedder of labels":  # of which each part has two
        classes = classes // 2
    return x, form[classes % len(names)].tolist()


def questions(texts, contexts, generator):
    """Questions whose answers are letters of their contexts."""
    found = []
    for i, (text, context) in enumerate(zip(texts, contexts, strict=True)):
        start = 2 * int(generator.integers(0, (len(context) + 1) // 2))
        answers = [{"text": context[start], "answer_start": start}]
        question = {
            "id": str(i),
            "question": text[:3],
            "context": context,
            "answers": answers,
        }
        found.append(question)
    return found


def pretraining_arrays(number=NUMBER, seed=1):
    """One batch `(x, y, weights)` of pre-training rows."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(6, LENGTH + 1, (number, 1))
    mask = (np.arange(LENGTH) < lengths).astype("int32")
    ids = generator.integers(5, 30, (number, LENGTH), "int32") * mask
    x = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": mask}
    x["mask_positions"] = np.sort(generator.integers(1, 6, (number, 3), "int32"))
    y = {"masked_lm": generator.integers(5, 30, (number, 3), "int32")}
    y["next_sentence"] = np.arange(number, dtype="int32") % 2
    used = np.arange(3) < 1 + np.arange(number)[:, None] % 3
    return (
        x,
        y,
        {"masked_lm": np.float32(used), "next_sentence": np.ones(number, "float32")},
    )


@functools.cache
def corpus():
    """A corpus of a few documents, and its tokenizer's tokens."""
    folder = Path(tempfile.mkdtemp())
    documents = ["\n".join(texts(4, 9, seed)) for seed in range(8)]
    (folder / "text.txt").write_text("\n\n".join(documents))
    return keras_bert.prepare_corpus(
        [str(folder / "text.txt")],
        str(folder / "corpus"),
        keras_bert.BertTokenizer(TOKENS),
        text_format="sentences",
        num_workers=1,
        progress=False,
    )


TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS]


def corpus_batches(run, next_sentence, seed=1, epochs=1):
    """The batches of a corpus."""
    return keras_bert.pretraining_dataset(
        corpus(),
        batch_size=ROWS,
        sequence_length=LENGTH,
        packed=run["task"] == "pretrainer on a packed corpus",
        next_sentence=next_sentence,
        epochs=epochs,
        seed=seed,
    )


class BatchList(keras.utils.PyDataset):
    """Batches of arrays, as a user's own class."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


class Iterable:
    """Examples that are read again for each epoch."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return iter(self.rows)


def batching_of(run, rows=ROWS):
    """The `Batching` of a run."""
    settings = {
        "fixed": {"batch_size": rows, "pad_to": "full"},
        "tokens": {"bucket_lengths": (LENGTH,), "tokens_per_batch": rows * LENGTH},
    }[run["batching"]]
    return Batching(shuffle=False, seed=1, **settings)


def columns(function, values):
    """Applies a function to each column of examples: a list or an array."""
    if values is None:
        return None
    if isinstance(values, tuple):
        return tuple(columns(function, column) for column in values)
    if isinstance(values, dict):
        return {name: columns(function, column) for name, column in values.items()}
    return function(values)


def sliced(values, part):
    """A part of lists, or of dicts and tuples of them."""
    return columns(lambda column: column[part], values)


def rows_of(x):
    """Examples one by one, as an iterable yields them."""
    if isinstance(x, tuple):
        return list(zip(*x, strict=True))
    if isinstance(x, dict):
        return [dict(zip(x, row, strict=True)) for row in zip(*x.values(), strict=True)]
    return x


def as_array(column):
    """Examples in a NumPy array; of objects if they are lists of several lengths."""
    try:
        return np.asarray(column)
    except ValueError:
        array = np.empty(len(column), object)
        array[:] = column
        return array


def as_tensor(column):
    """A tensor that `from_tensor_slices` slices; lists of several lengths are ragged."""
    import tensorflow as tf

    is_ragged = isinstance(column[0], (list, tuple))
    return tf.ragged.constant(column) if is_ragged else tf.constant(column)


def concatenated(batches):
    """Batches of equal widths as one."""
    return keras.tree.map_structure(lambda *parts: np.concatenate(parts), *batches)


def as_tf_data(batches, is_known):
    """Batches as a `tf.data.Dataset`, whose length is known or not."""
    import tensorflow as tf

    whole = concatenated(batches)
    size = len(keras.tree.flatten(batches[0])[0])
    data = tf.data.Dataset.from_tensor_slices(whole).batch(size)
    return data if is_known else data.filter(lambda *batch: True)
