"""Compares pre-training on packed rows with one sequence per row: real tokens per second.

    python benchmarks/packing.py --corpus corpus --sequence_length 512 --rows 4

Both train the same model on the same corpus, in turns of some steps each. Tokens are counted
without padding. It prints the median of the turns.
"""

import argparse
import statistics
import time

import keras
import numpy as np
from training_speed import processor

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--corpus", required=True, help="folder from prepare_corpus.py")
    parser.add_argument("--size", default="base", choices=sorted(keras_bert.sizes.SIZES))
    parser.add_argument("--num_layers", type=int, help="the size's own if not given")
    parser.add_argument("--sequence_length", type=int, default=512)
    parser.add_argument("--rows", type=int, default=4, help="rows per step")
    parser.add_argument("--steps", type=int, default=4, help="steps per turn")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--sequences_per_row", type=int, default=8)
    parser.add_argument("--precision", default="float32")
    return parser.parse_args(argv)


class Run:
    """A model and its endless batches, which are trained on for a few steps at a time."""

    def __init__(self, args, packed):
        keras.utils.set_random_seed(1)
        size = dict(keras_bert.sizes.SIZES[args.size])
        size["num_layers"] = args.num_layers or size["num_layers"]
        corpus = keras_bert.Corpus(args.corpus)
        vocabulary_size = keras_bert.BertTokenizer(corpus.vocabulary_path).vocabulary_size()
        self.model = keras_bert.BertPretrainer(keras_bert.BertBackbone(vocabulary_size, **size))
        self.model.compile(**self.model.default_compile_args())
        data = keras_bert.pretraining_dataset(
            corpus,
            batch_size=args.rows,
            sequence_length=args.sequence_length,
            packed=packed,
            sequences_per_row=args.sequences_per_row,
        )
        self.batches, self.steps, self.speeds, self.fills = iter(data), args.steps, [], []
        self.turn()  # compiles
        self.speeds.clear()

    def turn(self):
        batches = [next(self.batches) for _ in range(self.steps)]
        masks = [x["sequence_ids" if "sequence_ids" in x else "padding_mask"] for x, *_ in batches]
        are_tokens = [keras.ops.convert_to_numpy(mask) != 0 for mask in masks]
        started = time.perf_counter()
        for batch in batches:
            self.model.train_on_batch(*batch)
        seconds = time.perf_counter() - started
        self.speeds.append(sum(map(np.sum, are_tokens)) / seconds)
        self.fills.append(np.mean(are_tokens))


def main(argv=None):
    args = parse_args(argv)
    keras.config.set_dtype_policy(args.precision)
    runs = {"one sequence per row": Run(args, False), "packed": Run(args, True)}
    for _ in range(args.turns):
        for run in runs.values():
            run.turn()
    print(f"{processor()}, {keras.backend.backend()}, {args.precision}")
    for name, run in runs.items():
        speed, fill = statistics.median(run.speeds), np.mean(run.fills)
        print(f"{name:22}{speed:9,.0f} real tokens/s, {fill:.1%} of places hold a token")
    plain, packed = (statistics.median(run.speeds) for run in runs.values())
    print(f"packed / one sequence per row: {packed / plain:.2f}")


if __name__ == "__main__":
    main()
