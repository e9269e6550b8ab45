"""Scores, sizes and speeds of fine-tuned models, exported in float32 and in int8.

    python benchmarks/int8_scores.py --model all-MiniLM-L6-v2 --data data

For each task and seed it fine-tunes, exports, and scores the test set in each runtime on one
thread: accuracy of reviews of up to 128 tokens, F1 of entities in WNUT-17, Spearman's correlation
on STS-B. Times are CPU times of the fastest of three turns: of one text, and of each in batches of
32. transformers runs the same model in PyTorch. Needs the extras `export` and `parity`.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import _small_tasks as small_tasks
import keras
import numpy as np
from export_formats import litert, onnx, openvino

import keras_bert

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
    add("--data", type=Path, required=True, help="folder of the tasks' folders")
    add("--tasks", nargs="+", default=["sentiment", "entities"], choices=small_tasks.READ)
    add("--epochs", type=int, default=2)
    add("--learning_rate", type=float, default=1e-4)
    add("--seeds", type=int, nargs="+", default=[1, 2, 3])
    return parser.parse_args(argv)


def transformers(folder, task):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification

    torch.set_num_threads(1)
    of_tokens = task == "entities"
    kind = AutoModelForTokenClassification if of_tokens else AutoModelForSequenceClassification
    model = kind.from_pretrained(folder).eval()

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


def measured(task, run, model, x, y):
    """Returns the score, and CPU milliseconds of one text and of each of a batch."""
    _, many = batches(model, small_tasks.first(x, 1000), 32)
    _, single = batches(model, small_tasks.first(x, 40), 1)
    best = np.full(2, np.inf)
    for _ in range(3):
        for place, given in enumerate((single, many[::4])):
            number = sum(len(inputs["token_ids"]) for inputs in given)
            started = time.process_time()
            for inputs in given:
                run(inputs)
            best[place] = min(best[place], 1000 * (time.process_time() - started) / number)
    model.predict_on_batch = run  # and the model reads texts and scores answers
    try:
        return [small_tasks.score(task, model, x, y), *best]
    finally:
        del model.predict_on_batch


def exported(task, model, texts, folder):
    """Exports a model in each way; `{way: (function of inputs, bytes)}`."""
    runtimes, ways = {"onnx": onnx, "openvino": openvino, "litert": litert}, {}
    for way, (format, int8) in WAYS.items():
        int8 = small_tasks.first(texts, 300) if int8 == "texts" else int8
        options = {"format": format, "names": "keras_bert", "int8": int8}
        path = Path(model.export(folder / way.replace("`", ""), **options))
        size = max(file.stat().st_size for file in path.parent.iterdir())
        ways[way] = (runtimes[format](str(path), output="logits"), size)
    model.save_to_hugging_face(folder / "theirs")
    size = (folder / "theirs" / "model.safetensors").stat().st_size
    return {"transformers, float32": (transformers(folder / "theirs", task), size), **ways}


def main(argv=None):
    args = parse_args(argv)
    for task in args.tasks:
        data, length = small_tasks.READ[task](args.data)
        (x, y), _, test = data
        found, sizes = {}, {}
        for seed in args.seeds:
            keras.utils.set_random_seed(seed)
            model = small_tasks.make(task, data, args.model, length)
            small_tasks.train(model, x, y, args.epochs, args.learning_rate)
            with tempfile.TemporaryDirectory() as folder:
                for way, (run, size) in exported(task, model, x, Path(folder)).items():
                    sizes[way] = size
                    found.setdefault(way, []).append(measured(task, run, model, *test))
                    shown = ", ".join(f"{value:.2f}" for value in found[way][-1])
                    print(f"{task}, seed {seed}, {way}: {shown}", flush=True)
        print(f"| {task} | score | one text, ms | each of 32, ms | file |\n|---|---|---|---|---|")
        for way, rows in found.items():
            means, deviation = np.mean(rows, axis=0), np.std(rows, axis=0)[0]
            one, many = (f"{value:.2f}" for value in means[1:])
            size = f"{sizes[way] / 1e6:.0f} MB"
            print(f"| {way} | {means[0]:.2f} ± {deviation:.2f} | {one} | {many} | {size} |")


if __name__ == "__main__":
    main()
