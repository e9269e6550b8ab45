"""The one list of levels that don't go together: refused by the library, or without a meaning.

`docs/limits.md` shows it; `python -m tests.pairs.refused` writes that page.
"""

from pathlib import Path
from typing import NamedTuple

from tests.pairs.factors import FACTORS

TASKS = FACTORS["task"]
RAW = tuple(form for form in FACTORS["data"] if not form.startswith("prepared"))


def tasks(*names):
    """The tasks whose names begin so."""
    return tuple(task for task in TASKS if task.startswith(names))


def others(factor, *levels):
    """All levels of a factor but some."""
    return tuple(level for level in FACTORS[factor] if level not in levels)


class Refusal(NamedTuple):
    """Levels `{factor: levels}` that don't go together, and the message that says so.

    Without a message they can't be written: `reason` says why.
    """

    levels: dict
    message: str | None
    reason: str
    backends: tuple = ("tensorflow", "jax", "torch")


EMBEDDERS, PRETRAINERS, RERANKERS = (tasks(name) for name in ("embedder", "pretrain", "rerank"))
REGRESSIONS = tasks("regression")
UNLABELLED = (*tasks("spans", "choices", "embedder of p", "embedder of t"), *PRETRAINERS)
CLASSIFIERS = ("classes", "binary", "pairs", "windows", "features")
CLASSIFIES = (*CLASSIFIERS, "labels", *REGRESSIONS)
EXPORTS = ("SavedModel", "ONNX", "LiteRT", "OpenVINO")
DATASETS = ("tf.data of texts", "prepared tf.data", "prepared tf.data of unknown length")
DATASETS += ("prepared PyDataset",)
REFUSED = [
    # What can't be written.
    Refusal(
        {"task": UNLABELLED, "labels": others("labels", "in the examples")},
        None,
        "the examples hold their labels, or have none",
    ),
    Refusal(
        {"task": others("task", *UNLABELLED), "labels": ("in the examples",)},
        None,
        "labels are given apart",
    ),
    Refusal(
        {
            "task": (*REGRESSIONS, "embedder of scores", *RERANKERS),
            "labels": ("names", "one-hot"),
        },
        None,
        "labels are numbers",
    ),
    Refusal(
        {"task": ("labels",), "labels": ("numbers",)},
        None,
        "several labels are a list of names, or 0 and 1 for each class",
    ),
    Refusal(
        {"task": ("embedder of labels",), "labels": ("one-hot",)},
        None,
        "rows of numbers are vectors to learn",
    ),
    Refusal({"task": PRETRAINERS, "data": RAW}, None, "a corpus or arrays hold the masked rows"),
    Refusal(
        {"task": EMBEDDERS, "loss": ("function",)},
        None,
        "losses compare the examples of a batch: subclass `keras_bert.losses.BatchLoss`",
    ),
    Refusal(
        {"task": others("task", *CLASSIFIES), "after": ("calibrate",)},
        None,
        "only a `BertClassifier` has probabilities to calibrate",
    ),
    Refusal(
        {"task": ("embedder of labels",), "data": ("tf.data of texts",)},
        None,
        "a dataset of two texts is one of pairs; classes must be in memory",
    ),
    Refusal(
        {
            "task": ("embedder of labels",),
            "data": ("generator", "iterable"),
            "labels": ("names",),
        },
        None,
        "a stream of two texts is one of pairs",
    ),
    Refusal(
        {"task": ("spans", "choices"), "data": ("tf.data of texts",)},
        None,
        "questions must be in memory",
    ),
    Refusal(
        {
            "task": ("embedder of pairs", "embedder of triplets"),
            "data": ("tf.data of texts",),
            "weights": ("sample_weight",),
        },
        None,
        "a dataset of `((text, other), number)` has scores",
    ),
    Refusal(
        {"labels": ("in the examples",), "weights": ("class_weight",)},
        None,
        "`class_weight` is for classes of texts",
    ),
    Refusal(
        {"labels": ("in the examples",), "after": ("calibrate",)},
        None,
        "only a `BertClassifier` has probabilities to calibrate",
    ),
    Refusal(
        {"lora": ("yes",), "freezing": ("lower blocks", "encoder")},
        "has frozen this encoder",
        "LoRA freezes the encoder itself",
    ),
    Refusal(
        {"encoder": ("own",), "remat": ("yes",)}, "have no remat", "its blocks have no `remat`"
    ),
    Refusal(
        {"task": ("embedder of labels",), "data": ("generator", "iterable")},
        "paired at random: give lists",
        "texts with classes are paired at random",
    ),
    Refusal(
        {"task": EMBEDDERS, "data": ("tf.data of texts", "iterable"), "batching": ("tokens",)},
        "can't be sorted by length",
        "equal texts are known in a chunk of a stream only",
    ),
    Refusal(
        {"task": ("embedder of labels",), "batching": ("tokens",)},
        "can't be sorted by length",
        "texts with classes are paired at random",
    ),
    Refusal(
        {"data": (*DATASETS, "generator", "iterable"), "validation": ("split",)},
        "validation_split needs examples in memory",
        "the last examples of a stream are unknown",
    ),
    Refusal(
        {"task": EMBEDDERS, "freezing": ("encoder",)},
        "nothing to train",
        "a `BertEmbedder` has no head",
    ),
    Refusal(
        {"task": ("embedder of scores", "embedder of labels"), "weights": ("sample_weight",)},
        "no sample_weight",
        "the loss compares examples with each other",
    ),
    Refusal(
        {"task": ("spans",), "weights": ("sample_weight",)},
        "leave y and sample_weight out",
        "questions hold all that they train on",
    ),
    Refusal(
        {
            "task": ("choices", "embedder of pairs", "embedder of triplets"),
            "data": ("iterable",),
            "weights": ("sample_weight",),
        },
        "may change its order",
        "an iterable without labels has no place for weights",
    ),
    Refusal(
        {
            "task": ("reranker of triplets",),
            "after": ("answer and scores", "finetune", "finetune with a teacher"),
        },
        "scores takes pairs",
        "scores are of pairs with a relevance: `finetune` takes `scores=` of your own",
    ),
    Refusal(
        {"task": ("tags",), "data": ("tf.data of texts",)},
        "trains on lists of words and tags",
        "a dataset has texts, not words",
    ),
    Refusal(
        {"task": ("reranker of triplets",), "loss": ("function",)},
        "takes a label for each document",
        "triplets train with `MarginMeanSquaredError`",
    ),
    Refusal(
        {"optimizer": ("schedule",), "after": ("killed and resumed",)},
        "no optimizer to resume with",
        "a schedule for one call of `fit` can't be resumed",
    ),
    Refusal(
        {"dtype": ("mixed_float16",), "after": ("int8",)},
        "doesn't work well with compute_dtype",
        "Keras quantizes no layers that compute in float16",
    ),
    Refusal(
        {"task": ("tags",), "weights": ("sample_weight",)},
        "no sample_weight",
        "the weights of words say which of their pieces count",
    ),
    Refusal(
        {"task": ("tags",), "labels": ("one-hot",)},
        "one of the 3 classes",
        "tags are names or numbers",
    ),
    Refusal(
        {"task": ("labels", *REGRESSIONS), "weights": ("class_weight",)},
        "class_weight needs one class for each text",
        "a text has several classes, or none",
    ),
    Refusal(
        {"task": others("task", *CLASSIFIES), "weights": ("class_weight",)},
        "class_weight",
        "`class_weight` is for classes of texts",
    ),
    Refusal(
        {"steps_per_execution": (2,)},
        "must be 1 with the PyTorch backend",
        "Keras trains step by step on PyTorch",
        ("torch",),
    ),
    Refusal(
        {"after": EXPORTS},
        "requires TensorFlow",
        "files for other runtimes are written by TensorFlow: save a preset, and export it there",
        ("jax", "torch"),
    ),
    Refusal(
        {"after": ("ONNX", "LiteRT", "OpenVINO"), "dtype": others("dtype", "float32")},
        "which format=.* can't hold",
        'these formats compute in float32: load the preset with `dtype="float32"`',
        ("tensorflow",),
    ),
    Refusal(
        {"task": REGRESSIONS, "after": ("calibrate",)},
        "no probabilities to calibrate",
        "a regression has no probabilities",
    ),
    Refusal(
        {"task": others("task", *CLASSIFIES, *RERANKERS), "after": ("explain",)},
        None,
        "`explain` is for classifiers and rerankers",
    ),
    Refusal(
        {"labels": ("in the examples",), "after": ("explain",)},
        None,
        "classifiers and rerankers are given labels apart",
    ),
    Refusal(
        {"task": PRETRAINERS, "after": ("finetune", "finetune with a teacher")},
        "finetune takes raw examples",
        "`fit` trains on a corpus",
    ),
    Refusal(
        {"loss": ("function",), "after": ("finetune with a teacher",)},
        "which a function may not expect",
        "a loss gets labels of `[N, 1]` beside the outputs: pass a `keras.losses.Loss`",
    ),
    Refusal(
        {"task": PRETRAINERS, "after": ("SavedModel",)},
        "has no answers for a text",
        "there is nothing to serve",
        ("tensorflow",),
    ),
    Refusal(
        {"encoder": ("own",), "after": ("Hugging Face",)},
        "RopeBackbone",
        "other libraries have no class for it",
    ),
    Refusal(
        {"task": ("features",), "after": ("Hugging Face",)},
        "has num_features=2",
        "other libraries have no numbers alongside text",
    ),
    Refusal(
        {
            "task": ("embedder of pairs", "embedder of triplets"),
            "weights": ("sample_weight",),
            "after": ("finetune with a teacher",),
        },
        "leave sample_weight out",
        "a teacher's vectors are learned text by text",
    ),
    Refusal(
        {"encoder": ("own",), "after": ("keep_layers",)},
        "layers of RopeBackbone may differ",
        "its layers may differ from each other",
    ),
    Refusal(
        {"encoder": ("ModernBERT",), "after": ("keep_layers",)},
        "must begin with 0",
        "without its first layer: that one has no norm, and some see all tokens, others near ones",
    ),
]


PAGE = Path(__file__).resolve().parents[2] / "docs" / "limits.md"
BEGIN = """# What doesn't go together

Any two features should give the numbers that each gives without the other, or an error that says
what to do instead. `make pairs` tests this, pair by pair, for {number} settings on TensorFlow, JAX
and PyTorch: {names} (what is done with the trained model). These pairs don't go together:

| | together with | why |
|---|---|---|
"""


def page():
    """The list as a page of the docs."""
    names = [name.replace("_", " ") for name in FACTORS]
    text = BEGIN.format(number=len(FACTORS), names=", ".join(names))
    for levels, _, reason, backends in REFUSED:
        cells = [cell(name, some) for name, some in levels.items()]
        where = "" if len(backends) == 3 else f" (on {' and '.join(map(NAMED.get, backends))})"
        first, *rest = cells
        text += f"| {first} | {'; '.join(rest)}{where} | {reason} |\n"
    return text


NAMED = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}


def cell(name, levels):
    """The levels of a factor, or all but some."""
    left = [str(level) for level in FACTORS[name] if level not in levels]
    shown = ", ".join(map(str, levels))
    if len(left) < len(levels) and left:
        shown = f"all but {', '.join(left)}"
    return f"{name.replace('_', ' ')}: {shown}"


def forbidden(backend):
    """What no run on a backend may have."""
    return [refusal.levels for refusal in REFUSED if backend in refusal.backends]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
