"""Reader of GLUE's tasks from tensorflow-datasets."""

import os

import numpy as np

from keras_bert.metrics.glue import task_key
from keras_bert.readers.glue_tasks import glue_task

try:
    import tensorflow_datasets as tfds
except ImportError as error:
    raise ImportError(
        "tensorflow-datasets is not installed. Run pip install 'keras3-bert[tfds]', or read GLUE's "
        "own files with source='tsv'."
    ) from error


def read_tfds(
    data_dir: str | os.PathLike | None, task: str, split: str
) -> tuple[tuple[list[str], ...], np.ndarray | None]:
    """Reads a split of a task.

    Args:
        data_dir: the data directory of tensorflow-datasets, or None for its default.
        task: str, such as "mrpc".
        split: str, as in `read_glue`.

    Returns:
        `(texts, labels)` of a `GlueExamples`, in the order of GLUE's files.

    Raises:
        ValueError: if tensorflow-datasets has different class names.
    """
    description = glue_task(task)
    dataset, info = tfds.load(
        f"glue/{task_key(task)}",
        split=split.replace("dev", "validation"),
        data_dir=data_dir,
        with_info=True,
    )
    rows = sorted(tfds.as_numpy(dataset), key=lambda row: row["idx"])  # the dataset is shuffled
    names = description.tfds_texts or description.texts
    texts = tuple([row[name].decode("utf-8") for row in rows] for name in names)
    labels = np.array([row["label"] for row in rows])
    ours = description.class_names()
    if ours is None:
        has_labels = not split.startswith("test")
        return texts, labels.astype("float32") if has_labels else None
    theirs = list(info.features["label"].names)
    if sorted(theirs) != sorted(ours):
        raise ValueError(
            f"tensorflow-datasets {tfds.__version__} names the classes of {description.name} "
            f"{', '.join(theirs)}; expected {', '.join(ours)}. Use source='tsv'."
        )
    if (labels < 0).all():
        return texts, None
    return texts, np.array([ours.index(name) for name in theirs], "int32")[labels]
