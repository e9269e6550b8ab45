"""Tiny examples of every task, in every form that people give them."""

import functools
import tempfile
from pathlib import Path

import keras
import numpy as np

import keras_bert
from keras_bert import Batching

LENGTH, NUMBER, ROWS = 16, 8, 4  # of a sequence, of examples, of a batch
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
    classes = np.arange(number) % len(NAMES.get(task, "abc"))
    if task == "embedder of labels":  # of which each part has two
        classes = np.arange(number) // 2 % 3
    if task == "labels":
        hot = generator.integers(0, 2, (number, 3))
        return one, [[n for n, h in zip("xyz", row, strict=True) if h] for row in hot] if (
            labels == "names"
        ) else hot.tolist()
    if task == "tags":
        words = [text.split() for text in one]
        numbers = [generator.integers(0, 3, len(w)).tolist() for w in words]
        numbers = [
            [1 if t == 2 and (i == 0 or not r[i - 1]) else t for i, t in enumerate(r)]
            for r in numbers
        ]
        names = [[NAMES["tags"][t] for t in row] for row in numbers]
        hot = [np.eye(3)[row].tolist() for row in numbers]
        return words, {"names": names, "numbers": numbers, "one-hot": hot}[labels]
    if task == "spans":
        questions = []
        for i, context in enumerate(texts(number, 30, seed + 40)):
            start = 2 * int(generator.integers(0, (len(context) + 1) // 2))
            answer = {"text": context[start], "answer_start": start}
            questions.append(
                {"id": str(i), "question": one[i][:3], "context": context, "answers": [answer]}
            )
        return questions, None
    if task == "choices":
        return [
            {
                "context": one[i][:9],
                "choices": [other[i], third[i], "b"][: 2 + i % 2],
                "label": i % 2,
            }
            for i in range(number)
        ], None
    if task == "embedder of pairs":
        return (one, other), None
    if task == "embedder of triplets":
        return (one, other, third), None
    if task == "regression of several":
        return one, generator.uniform(0, 1, (number, 2)).round(3).tolist()
    if task in ("regression", "embedder of scores", "reranker", "reranker of triplets"):
        scores = generator.uniform(0, 1, number).round(3).tolist()
        x = {"regression": one, "reranker of triplets": (one, other, third)}
        return x.get(task, (one, other)), scores
    if task == "windows":
        x = texts(number, 30, seed + 50)
    else:
        x = (one, other) if task == "pairs" else one
    if task == "features":
        x = {"text": one, "features": generator.normal(5, 2, (number, 2)).astype("float32")}
    names = NAMES.get(task, ["low", "mid", "high"])
    if labels == "names":
        return x, [names[c] for c in classes]
    return x, (np.eye(len(names))[classes] if labels == "one-hot" else classes).tolist()


def pretraining_arrays(number=NUMBER, seed=1):
    """One batch `(x, y, weights)` of pre-training rows."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(6, LENGTH + 1, number)
    mask = (np.arange(LENGTH) < lengths[:, None]).astype("int32")
    ids = generator.integers(5, 30, (number, LENGTH)).astype("int32") * mask
    ids[:, 0] = 2
    positions = np.sort(generator.integers(1, 6, (number, 3))).astype("int32")
    x = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": mask}
    x["mask_positions"] = positions
    y = {"masked_lm": generator.integers(5, 30, (number, 3)).astype("int32")}
    y["next_sentence"] = (np.arange(number) % 2).astype("int32")
    weights = {"masked_lm": (np.arange(3) < 1 + np.arange(number)[:, None] % 3).astype("float32")}
    weights["next_sentence"] = np.ones(number, "float32")
    return x, y, weights


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


def corpus_batches(run, next_sentence, seed=1):
    """The batches of a corpus."""
    return keras_bert.pretraining_dataset(
        corpus(),
        batch_size=ROWS,
        sequence_length=LENGTH,
        packed=run["task"] == "pretrainer on a packed corpus",
        next_sentence=next_sentence,
        epochs=1,
        seed=seed,
    )


class Pydataset(keras.utils.PyDataset):
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


def batching_of(run, **others):
    """The `Batching` of a run."""
    settings = {
        "fixed": {"batch_size": ROWS, "pad_to": "full"},
        "tokens": {"bucket_lengths": (LENGTH,), "tokens_per_batch": ROWS * LENGTH},
    }[run["batching"]]
    return Batching(**{"shuffle": False, "seed": 1, **settings, **others})


def sliced(values, part):
    """A part of lists, or of dicts and tuples of them."""
    if isinstance(values, dict):
        return {name: sliced(v, part) for name, v in values.items()}
    return (
        tuple(sliced(v, part) for v in values)
        if isinstance(values, tuple)
        else (None if values is None else values[part])
    )


def rows_of(x):
    """Examples one by one, as an iterable yields them."""
    if isinstance(x, tuple):
        return list(zip(*x, strict=True))
    if isinstance(x, dict):
        return [{"text": t, "features": f} for t, f in zip(x["text"], x["features"], strict=True)]
    return x


def as_array(values):
    """Examples in a NumPy array; of objects where an array of numbers or texts can't hold them."""
    if values is None or isinstance(values, np.ndarray):
        return values
    if isinstance(values, (tuple, dict)):
        if isinstance(values, dict):
            return {name: as_array(v) for name, v in values.items()}
        return tuple(map(as_array, values))
    first = values[0]
    is_plain = not isinstance(first, dict) and (
        not isinstance(first, list)
        or (len({len(v) for v in values}) == 1 and isinstance((first or [""])[0], (int, float)))
    )
    if is_plain:
        return np.array(values)
    array = np.empty(len(values), object)
    array[:] = values
    return array


def as_columns(values):
    """Examples in columns of pandas."""
    import pandas

    if values is None:
        return None
    if isinstance(values, tuple):
        return pandas.DataFrame({f"text {i}": v for i, v in enumerate(values)})
    if isinstance(values, dict):
        features = pandas.DataFrame(values["features"])
        return {"text": pandas.Series(values["text"]), "features": features}
    is_table = isinstance(values, list) and isinstance(values[0], list)
    if (
        is_table
        and len({len(v) for v in values}) == 1
        and not isinstance((values[0] or [""])[0], str)
    ):
        return pandas.DataFrame(values)
    return pandas.Series(values, index=range(7, 7 + len(values)))


def tensors(values):
    """Examples as tensors that `from_tensor_slices` slices; lists of several lengths are ragged."""
    import tensorflow as tf

    if isinstance(values, tuple):
        return tuple(map(tensors, values))
    if isinstance(values, dict):
        return {name: tensors(v) for name, v in values.items()}
    if isinstance(values[0], (list, tuple)):
        return tf.ragged.constant(values)
    return tf.constant(values)


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
