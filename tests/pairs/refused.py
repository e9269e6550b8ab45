"""The one list of levels that don't go together: refused by the library, or without a meaning.

`docs/limits.md` shows it; `python -m tests.pairs.refused` writes that page.
"""

from typing import NamedTuple

from tests.gates import ROOT
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
    backends: tuple


def refusal(message, reason, *backends, **levels):
    """A refusal on some backends, by default on all; a factor may have one level."""
    levels = {name: (some,) if isinstance(some, str) else some for name, some in levels.items()}
    return Refusal(levels, message, reason, backends or ("tensorflow", "jax", "torch"))


EMBEDDERS, PRETRAINERS, RERANKERS = (tasks(name) for name in ("embedder", "pretrain", "rerank"))
REGRESSIONS = tasks("regression")
UNLABELLED = (*tasks("spans", "choices", "embedder of p", "embedder of t"), *PRETRAINERS)
CLASSIFIERS = ("classes", "binary", "pairs", "windows", "features")
CLASSIFIES = (*CLASSIFIERS, "labels", *REGRESSIONS)
EXPORTS = ("SavedModel", "ONNX", "LiteRT", "OpenVINO")
DATASETS = ("tf.data of texts", "prepared tf.data", "prepared tf.data of unknown length")
DATASETS += ("prepared PyDataset",)
REFUSED = [
    # What can't be written has no message.
    refusal(
        None,
        "the examples hold their labels, or have none",
        task=UNLABELLED,
        labels=others("labels", "in the examples"),
    ),
    refusal(
        None,
        "labels are given apart",
        task=others("task", *UNLABELLED),
        labels="in the examples",
    ),
    refusal(
        None,
        "labels are numbers",
        task=(*REGRESSIONS, "embedder of scores", *RERANKERS),
        labels=("names", "one-hot"),
    ),
    refusal(
        None,
        "several labels are a list of names, or 0 and 1 for each class",
        task="labels",
        labels="numbers",
    ),
    refusal(
        None,
        "rows of numbers are vectors to learn",
        task="embedder of labels",
        labels="one-hot",
    ),
    refusal(None, "a corpus or arrays hold the masked rows", task=PRETRAINERS, data=RAW),
    refusal(
        None,
        "losses compare the examples of a batch: subclass `keras_bert.losses.BatchLoss`",
        task=EMBEDDERS,
        loss="function",
    ),
    refusal(
        None,
        "only a `BertClassifier` has probabilities to calibrate",
        task=others("task", *CLASSIFIES),
        after="calibrate",
    ),
    refusal(
        None,
        "a dataset of two texts is one of pairs; classes must be in memory",
        task="embedder of labels",
        data="tf.data of texts",
    ),
    refusal(
        None,
        "a stream of two texts is one of pairs",
        task="embedder of labels",
        data=("generator", "iterable"),
        labels="names",
    ),
    refusal(
        None,
        "questions must be in memory",
        task=("spans", "choices"),
        data="tf.data of texts",
    ),
    refusal(
        None,
        "a dataset of `((text, other), number)` has scores",
        task=("embedder of pairs", "embedder of triplets"),
        data="tf.data of texts",
        weights="sample_weight",
    ),
    refusal(
        None,
        "`class_weight` is for classes of texts",
        labels="in the examples",
        weights="class_weight",
    ),
    refusal(
        None,
        "only a `BertClassifier` has probabilities to calibrate",
        labels="in the examples",
        after="calibrate",
    ),
    refusal(
        "has frozen this encoder",
        "LoRA freezes the encoder itself",
        lora="yes",
        freezing=("lower blocks", "encoder"),
    ),
    refusal("have no remat", "its blocks have no `remat`", encoder="own", remat="yes"),
    refusal(
        "paired at random: give lists",
        "texts with classes are paired at random",
        task="embedder of labels",
        data=("generator", "iterable"),
    ),
    refusal(
        "can't be sorted by length",
        "equal texts are known in a chunk of a stream only",
        task=EMBEDDERS,
        data=("tf.data of texts", "iterable"),
        batching="tokens",
    ),
    refusal(
        "can't be sorted by length",
        "texts with classes are paired at random",
        task="embedder of labels",
        batching="tokens",
    ),
    refusal(
        "validation_split needs examples in memory",
        "the last examples of a stream are unknown",
        data=(*DATASETS, "generator", "iterable"),
        validation="split",
    ),
    refusal(
        "nothing to train",
        "a `BertEmbedder` has no head",
        task=EMBEDDERS,
        freezing="encoder",
    ),
    refusal(
        "no sample_weight",
        "the loss compares examples with each other",
        task=("embedder of scores", "embedder of labels"),
        weights="sample_weight",
    ),
    refusal(
        "leave y and sample_weight out",
        "questions hold all that they train on",
        task="spans",
        weights="sample_weight",
    ),
    refusal(
        "may change its order",
        "an iterable without labels has no place for weights",
        task=("choices", "embedder of pairs", "embedder of triplets"),
        data="iterable",
        weights="sample_weight",
    ),
    refusal(
        "scores takes pairs",
        "scores are of pairs with a relevance: `finetune` takes `scores=` of your own",
        task="reranker of triplets",
        after=("answer and scores", "finetune", "finetune with a teacher"),
    ),
    refusal(
        "Tags are for lists of words",
        "a dataset has texts, not words",
        task="tags",
        data="tf.data of texts",
    ),
    refusal(
        "takes a label for each document",
        "triplets train with `MarginMeanSquaredError`",
        task="reranker of triplets",
        loss="function",
    ),
    refusal(
        "no optimizer to resume with",
        "a schedule for one call of `fit` can't be resumed",
        optimizer="schedule",
        after="killed and resumed",
    ),
    refusal(
        "doesn't work well with compute_dtype",
        "Keras quantizes no layers that compute in float16",
        dtype="mixed_float16",
        after="int8",
    ),
    refusal(
        "no sample_weight",
        "the weights of words say which of their pieces count",
        task="tags",
        weights="sample_weight",
    ),
    refusal("one of the 3 classes", "tags are names or numbers", task="tags", labels="one-hot"),
    refusal(
        "class_weight needs one class for each text",
        "a text has several classes, or none",
        task=("labels", *REGRESSIONS),
        weights="class_weight",
    ),
    refusal(
        "class_weight",
        "`class_weight` is for classes of texts",
        task=others("task", *CLASSIFIES),
        weights="class_weight",
    ),
    refusal(
        "must be 1 with the PyTorch backend",
        "Keras trains step by step on PyTorch",
        "torch",
        steps_per_execution=(2,),
    ),
    refusal(
        "requires TensorFlow",
        "files for other runtimes are written by TensorFlow: save a preset, and export it there",
        "jax",
        "torch",
        after=EXPORTS,
    ),
    refusal(
        "which format=.* can't hold",
        'these formats compute in float32: load the preset with `dtype="float32"`',
        "tensorflow",
        after=("ONNX", "LiteRT", "OpenVINO"),
        dtype=others("dtype", "float32"),
    ),
    refusal(
        "no probabilities to calibrate",
        "a regression has no probabilities",
        task=REGRESSIONS,
        after="calibrate",
    ),
    refusal(
        "finetune takes raw examples",
        "`fit` trains on a corpus",
        task=PRETRAINERS,
        after=("finetune", "finetune with a teacher"),
    ),
    refusal(
        "which a function may not expect",
        "a loss gets labels of `[N, 1]` beside the outputs: pass a `keras.losses.Loss`",
        loss="function",
        after="finetune with a teacher",
    ),
    refusal(
        "has no answers for a text",
        "there is nothing to serve",
        "tensorflow",
        task=PRETRAINERS,
        after="SavedModel",
    ),
    refusal(
        "OwnBackbone",
        "other libraries have no class for it",
        encoder="own",
        after="Hugging Face",
    ),
    refusal(
        "has num_features=2",
        "other libraries have no numbers alongside text",
        task="features",
        after="Hugging Face",
    ),
    refusal(
        "leave sample_weight out",
        "a teacher's vectors are learned text by text",
        task=("embedder of pairs", "embedder of triplets"),
        weights="sample_weight",
        after="finetune with a teacher",
    ),
]


PAGE = ROOT / "docs" / "limits.md"
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
