"""Measures the time and memory of loading, compared with Hugging Face's own loader.

    python benchmarks/loading.py
    python benchmarks/loading.py --model path/to/folder --turns 5

The libraries take turns. Each loads the same model.safetensors in a fresh process and encodes one
short sentence, because transformers reads a weight from disk only when it is first used. Importing
the library counts neither as time nor as memory. By default the model is a random BERT-Base that is
written first. Needs torch and transformers (the extra `parity`).
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--model", help="folder of a Hugging Face model")
    parser.add_argument("--size", default="base", help="size of the random model, without --model")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--load", choices=["keras_bert", "transformers"], help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def load(library, folder):
    """Loads once in this process and prints seconds and memory."""
    token_ids = np.array([[101, 2023, 2003, 1037, 7099, 102]])
    if library == "keras_bert":
        import keras

        from keras_bert import BertBackbone

        make = BertBackbone.from_preset
        inputs = {"token_ids": token_ids, "padding_mask": np.ones_like(token_ids)}
        inputs["segment_ids"] = np.zeros_like(token_ids)
        keras.ops.matmul(
            np.ones((2, 2), "float32"), np.ones((2, 2), "float32")
        )  # starts TensorFlow
    else:
        import torch
        from transformers import BertModel

        make = BertModel.from_pretrained
        inputs = torch.tensor(token_ids)
    before, started = peak_memory(), time.perf_counter()
    model = make(folder)
    loaded = time.perf_counter() - started
    outputs = model(inputs)
    answered = time.perf_counter() - started
    assert len(outputs) >= 2
    print(json.dumps([loaded, answered, (peak_memory() - before) / 2**20]))


def peak_memory():
    """Returns the peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 2**10


def write_model(folder, size):
    """Writes a random model, from another process."""
    script = (
        "import keras_bert\n"
        f"backbone = keras_bert.BertBackbone(30522, **keras_bert.sizes.{size})\n"
        f"backbone.save_to_hugging_face({str(folder)!r})"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def main(argv=None):
    args = parse_args(argv)
    if args.load:
        return load(args.load, args.model)
    with tempfile.TemporaryDirectory() as folder:
        model = args.model or str(Path(folder, "model"))
        if not args.model:
            write_model(model, args.size)
        taken = {"keras_bert": [], "transformers": []}
        for _ in range(args.turns):
            for library, results in taken.items():
                command = [sys.executable, __file__, "--load", library, "--model", model]
                output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
                results.append(json.loads(output.decode().splitlines()[-1]))
    print(f"{'library':<14} {'loaded, s':>10} {'answered, s':>12} {'memory, MiB':>12}")
    rows = {
        library: [statistics.median(column) for column in zip(*results, strict=True)]
        for library, results in taken.items()
    }
    rows["ratio"] = [ours / theirs for ours, theirs in zip(*rows.values(), strict=True)]
    for name, (loaded, answered, memory) in rows.items():
        print(f"{name:<14} {loaded:10.2f} {answered:12.2f} {memory:12.1f}")


if __name__ == "__main__":
    main()
