"""Measures an embedder's training on large batches, whole and in parts: memory and equality.

    python benchmarks/embedder_parts.py --data data --model all-MiniLM-L6-v2

In-batch negatives compare every text with every other of the batch, so a batch cannot be divided
like others: the texts are embedded part by part without gradients, then the loss is computed over
all, then the texts are embedded again for the gradients. Each way takes the same steps with SGD on
pairs of the NLI data, without dropout and in float32, in a process of its own.
"""

import argparse
import csv
import itertools
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with nli/train.tsv")
    parser.add_argument("--model", required=True, help="weights of a sentence embedder")
    parser.add_argument("--batch_size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--learning_rate", type=float, default=0.1)
    parser.add_argument("--parts", type=int, nargs="+", default=[1, 16], help="parts of a batch")
    parser.add_argument("--weights", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def train(args, parts):
    """Trains; returns the losses and the peak GiB, and saves all weights as one vector."""
    import keras

    import keras_bert

    keras.utils.set_random_seed(1)
    with open(args.data / "nli" / "train.tsv", encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        rows = list(itertools.islice(reader, args.batch_size * args.steps))
    model = keras_bert.BertEmbedder(
        keras_bert.BertBackbone.from_preset(args.model, dropout=0.0, attention_dropout=0.0),
        preprocessor=keras_bert.BertEmbedderPreprocessor.from_preset(args.model),
    )
    model.compile(optimizer=keras.optimizers.SGD(args.learning_rate))
    losses = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda step, logs: kept.append(logs["loss"] * (step + 1))
    )
    kept = []  # sums over steps: Keras reports means since the epoch began
    model.fit(
        tuple([row[name] for row in rows] for name in ("sentence1", "sentence2")),
        batch_size=args.batch_size,
        shuffle=False,
        accumulation_steps=parts,
        callbacks=[losses],
        verbose=0,
    )
    np.save(args.weights, np.concatenate([np.ravel(weights) for weights in model.get_weights()]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return np.diff(kept, prepend=0.0).tolist(), peak


def main(argv=None):
    args = parse_args(argv)
    if args.weights:
        print(json.dumps(train(args, *args.parts)))
        return
    argv = sys.argv[1:] if argv is None else argv
    with tempfile.TemporaryDirectory() as folder:
        first = None
        for parts in args.parts:
            path = Path(folder, f"{parts}.npy")
            command = [sys.executable, __file__, *argv, "--parts", str(parts), "--weights", path]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            losses, peak = json.loads(done.stdout.splitlines()[-1])
            weights = np.load(path)
            first = weights if first is None else first
            print(
                f"{parts} parts of {args.batch_size // parts}: {peak:.2f} GiB at most, losses "
                f"{', '.join(f'{loss:.6f}' for loss in losses)}; weights, of at most "
                f"{np.abs(weights).max():.1f}, differ by {np.abs(weights - first).max():.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
