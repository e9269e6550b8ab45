"""Reader of GLUE's tasks from tensorflow-datasets."""

import numpy as np

from keras_bert.messages import missing
from keras_bert.metrics.glue import task_key
from keras_bert.readers.glue import GlueExamples, glue_task
from keras_bert.reports import Reports

_TEXTS = {  # the columns of tensorflow-datasets that have other names in GLUE's files
    "MRPC": ("sentence1", "sentence2"),
    **dict.fromkeys(("MNLI", "AX"), ("premise", "hypothesis")),
}


def read_tfds(data_dir: str | None, task: str, split: str) -> GlueExamples:
    """Reads a split as `read_glue` does, in the order of GLUE's files, downloading it if needed."""
    try:
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise missing("tensorflow-datasets", "tfds") from error
    description = glue_task(task)
    dataset, info = tfds.load(
        f"glue/{task_key(task)}",
        split=split.replace("dev", "validation"),
        data_dir=data_dir,
        with_info=True,
    )
    rows = sorted(tfds.as_numpy(dataset), key=lambda row: row["idx"])  # the dataset is shuffled
    names = _TEXTS.get(description.name, description.texts)
    texts = tuple([row[name].decode("utf-8") for row in rows] for name in names)
    labels, ours = np.array([row["label"] for row in rows]), description.class_names()
    if ours is None:
        labels = labels.astype("float32")
    elif (labels >= 0).any():  # tensorflow-datasets orders the classes in its own way
        theirs = info.features["label"].names
        labels = np.array([ours.index(name) for name in theirs], "int32")[labels]
    if split.startswith("test") and (ours is None or (labels < 0).all()):
        labels = None
    return GlueExamples(description.name, split, texts, labels, ours, Reports())
