"""Scores, sizes and speeds of a fine-tuned classifier, exported in float32 and in int8.

    python benchmarks/int8_scores.py --model all-MiniLM-L6-v2 --data data

It fine-tunes on `sentiment/train.tsv` with each seed, exports, and scores `sentiment/test.tsv` in
each runtime on one thread. Times are CPU times of the fastest of three turns: of one text, and of
each in batches of 32. transformers runs the same model in PyTorch. Needs the extras `export` and
`parity`.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from export_formats import litert, onnx, openvino

import keras_bert
from keras_bert.readers import read_table

WAYS = {  # name: format, int8; "texts" are examples of the training data
    "ONNX Runtime, float32": ("onnx", False),
    "ONNX Runtime, `int8=True`": ("onnx", True),
    "OpenVINO, float32": ("openvino", False),
    "OpenVINO, `int8=True`": ("openvino", True),
    "OpenVINO, `int8=texts`": ("openvino", "texts"),
    "LiteRT, float32": ("litert", False),
    "LiteRT, `int8=True`": ("litert", True),
}


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--model", required=True, help="source for BertClassifier.from_preset")
    add("--data", type=Path, required=True, help="folder with sentiment/")
    add("--sequence_length", type=int, default=128)
    add("--examples", type=int, default=2000, help="to train on")
    add("--tested", type=int, default=1000, help="texts to score")
    add("--seeds", type=int, nargs="+", default=[1, 2, 3])
    return parser.parse_args(argv)


def transformers(folder):
    import torch
    from transformers import AutoModelForSequenceClassification

    torch.set_num_threads(1)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()

    @torch.inference_mode()
    def run(inputs):
        names = ("token_ids", "padding_mask", "segment_ids")
        return model(*(torch.tensor(inputs[name]) for name in names)).logits.numpy()

    return run


def batches(model, texts, size):
    """The inputs of texts, the longest first, in batches padded to their longest."""
    rows = model.preprocessor.read(texts)
    order = np.argsort(-rows.num_tokens(), kind="stable")
    batching = keras_bert.Batching(pad_to="longest")
    parts = [order[start : start + size] for start in range(0, len(order), size)]
    return order, [rows.batch(part, batching)[0] for part in parts]


def measured(run, model, texts, labels):
    """Returns accuracy, and CPU milliseconds of one text and of each of a batch."""
    order, many = batches(model, texts, 32)
    _, single = batches(model, texts[:40], 1)
    logits = np.concatenate([run(inputs) for inputs in many])
    best = np.full(2, np.inf)
    for _ in range(3):
        for place, (given, number) in enumerate(((single, 40), (many[::4], None))):
            number = number or sum(len(inputs["token_ids"]) for inputs in given)
            started = time.process_time()
            for inputs in given:
                run(inputs)
            best[place] = min(best[place], 1000 * (time.process_time() - started) / number)
    return [100 * np.mean(logits.argmax(-1) == labels[order]), *best]


def fine_tuned(args, train, seed):
    keras.utils.set_random_seed(seed)
    model = keras_bert.BertClassifier.from_preset(
        args.model, label_names=["Negative", "Positive"], sequence_length=args.sequence_length
    )
    chosen = np.random.default_rng(seed).permutation(len(train))[: args.examples]
    texts, labels = ([train[name][i] for i in chosen] for name in ("Text", "Sentiment"))
    model.compile(keras_bert.AdamW(5e-5))
    model.fit(texts, labels, batch_size=16, epochs=2, verbose=0)
    return model, texts


def exported(model, texts, folder):
    """Exports a model in each way; `{way: (function of inputs, bytes)}`."""
    runtimes, ways = {"onnx": onnx, "openvino": openvino, "litert": litert}, {}
    for way, (format, int8) in WAYS.items():
        int8 = texts[:300] if int8 == "texts" else int8
        options = {"format": format, "names": "keras_bert", "int8": int8}
        path = Path(model.export(folder / way.replace("`", ""), **options))
        size = max(file.stat().st_size for file in path.parent.iterdir())
        ways[way] = (runtimes[format](str(path), output="logits"), size)
    model.save_to_hugging_face(folder / "theirs")
    size = (folder / "theirs" / "model.safetensors").stat().st_size
    return {"transformers, float32": (transformers(folder / "theirs"), size), **ways}


def main(argv=None):
    args = parse_args(argv)
    train, test = (read_table(args.data / "sentiment" / f"{n}.tsv") for n in ("train", "test"))
    chosen = np.random.default_rng(0).permutation(len(test))[: args.tested]
    texts = [test["Text"][i] for i in chosen]
    labels = np.array([["Negative", "Positive"].index(test["Sentiment"][i]) for i in chosen])
    found, sizes = {}, {}
    for seed in args.seeds:
        model, own = fine_tuned(args, train, seed)
        with tempfile.TemporaryDirectory() as folder:
            for way, (run, size) in exported(model, own, Path(folder)).items():
                sizes[way] = size
                found.setdefault(way, []).append(measured(run, model, texts, labels))
                shown = ", ".join(f"{value:.2f}" for value in found[way][-1])
                print(f"seed {seed}, {way}: {shown}", flush=True)
    print("| | accuracy | one text, ms | each of 32, ms | file |\n|---|---|---|---|---|")
    for way, rows in found.items():
        means, deviation = np.mean(rows, axis=0), np.std(rows, axis=0)[0]
        one, many = (f"{value:.2f}" for value in means[1:])
        size = f"{sizes[way] / 1e6:.0f} MB"
        print(f"| {way} | {means[0]:.2f} ± {deviation:.2f} | {one} | {many} | {size} |")


if __name__ == "__main__":
    main()
