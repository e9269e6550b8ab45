"""Measures the loading of a model, each in a fresh process, next to transformers.

    python benchmarks/loading.py
    python benchmarks/loading.py --model path/to/folder --turns 5

It measures the seconds and the memory of loading the same model.safetensors and of encoding one
short sentence, because transformers reads a weight from disk only when it is first used. Importing
the library counts neither as time nor as memory. Without `--model`, a random BERT-Base is written
first.

Both libraries take turns. Needs torch and transformers (the extra `parity`).
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--model", help="folder of a Hugging Face model")
    parser.add_argument("--size", default="base", help="size of the random model, without --model")
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


CHILDREN = {"keras_bert": load, "transformers": transformers_load}


def measured(library, model):
    """Loads in a new process."""
    command = [sys.executable, __file__, "--model", model, "--child", library]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def print_loading(args, folder):
    model = args.model or f"{folder}/model"
    if not args.model:
        make = f"keras_bert.BertBackbone(30522, **keras_bert.sizes.{args.size})"
        script = f"import keras_bert; {make}.save_to_hugging_face({model!r})"
        subprocess.run([sys.executable, "-c", script], check=True)
    taken = {library: [] for library in CHILDREN}
    for _ in range(args.turns):
        for library, results in taken.items():
            results.append(measured(library, model))
    rows = [list(map(statistics.median, zip(*r, strict=True))) for r in taken.values()]
    rows.append([ours / theirs for ours, theirs in zip(*rows, strict=True)])
    print(f"{'library':<14} {'loaded, s':>10} {'answered, s':>12} {'memory, MiB':>12}")
    for name, row in zip((*CHILDREN, "ratio"), rows, strict=True):
        print("{:<14} {:10.2f} {:12.2f} {:12.1f}".format(name, *row))


def main(argv=None):
    args = parse_args(argv)
    if args.child:
        print(json.dumps(CHILDREN[args.child](args.model)))
        return
    with tempfile.TemporaryDirectory() as folder:
        print_loading(args, folder)


if __name__ == "__main__":
    main()
