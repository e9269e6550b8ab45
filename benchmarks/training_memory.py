"""Measures the peak memory of training, with and without accumulation and rematerialization.

    python benchmarks/training_memory.py --size base --sequence_length 512 --batch_size 8

Each way takes a few steps of masked LM and next sentence prediction on random tokens, in its own
process. The table shows the peak resident size of that process, and its size before training, with
the model built. The optimizer's moments are allocated in the first step.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

WAYS = {
    "whole batches": {},
    "4 parts": {"accumulation_steps": 4},
    "remat": {"remat": True},
    "4 parts, remat": {"accumulation_steps": 4, "remat": True},
}


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--size", default="base")
    parser.add_argument("--sequence_length", type=int, default=512)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--precision", default="mixed_bfloat16")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def train(args, accumulation_steps=1, remat=False):
    """Returns `(GiB before training, peak GiB, seconds of the fastest step)`."""
    import keras
    import numpy as np

    import keras_bert
    from keras_bert.sizes import SIZES

    keras.config.set_dtype_policy(args.precision)
    vocabulary_size, rows, length = 30522, args.batch_size, args.sequence_length
    slots = round(0.15 * length)
    backbone = keras_bert.BertBackbone(vocabulary_size, remat=remat, **SIZES[args.size])
    model = keras_bert.BertPretrainer(backbone)
    model.compile(**model.default_compile_args())
    rng = np.random.default_rng(0)
    x = {
        "token_ids": rng.integers(5, vocabulary_size, (rows, length)),
        "segment_ids": np.zeros((rows, length), "int32"),
        "padding_mask": np.ones((rows, length), "int32"),
        "mask_positions": np.tile(np.arange(slots), (rows, 1)),
    }
    y = {
        "masked_lm": rng.integers(5, vocabulary_size, (rows, slots)),
        "next_sentence": rng.integers(0, 2, rows),
    }
    before, seconds = peak(), []
    for _ in range(args.steps):
        start = time.perf_counter()
        model.fit(x, y, batch_size=rows, verbose=0, accumulation_steps=accumulation_steps)
        seconds.append(time.perf_counter() - start)
    return before, peak(), min(seconds)


def main(argv=None):
    args = parse_args(argv)
    if args.way:
        print(json.dumps(train(args, **WAYS[args.way])))
        return
    print("| way | GiB before training | peak GiB | seconds per step |\n|---|---|---|---|")
    for way in WAYS:
        command = [sys.executable, __file__, *(sys.argv[1:] if argv is None else argv)]
        done = subprocess.run([*command, "--way", way], stdout=subprocess.PIPE, text=True)
        before, most, seconds = json.loads(done.stdout.splitlines()[-1])
        print(f"| {way} | {before:.2f} | {most:.2f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
