"""Measures how fast a corpus becomes pre-training batches, on one core, or is trained on packed.

    python benchmarks/pretraining_data.py
    python benchmarks/pretraining_data.py --corpus corpus
    python benchmarks/pretraining_data.py --corpus corpus --train --sequence_length 512 --rows 4

Without `--corpus`, it makes a corpus of random tokens. It counts tokens, including special tokens
but not padding, per second of CPU time, and their share of the rows. It measures two epochs,
without their first batch.

`--train` compares pre-training on packed rows with one sequence per row instead: real tokens per
second, on all cores. Both train the same model on the same corpus, in turns of some steps each; it
prints the median of the turns.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

if __name__ == "__main__" and "--train" not in sys.argv and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before TensorFlow counts the cores

import numpy as np
import tensorflow as tf
from training_speed import processor

import keras_bert
from keras_bert.corpus.shards import finish_corpus, shard_name, write_shard


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--corpus", help="folder of a corpus")
    parser.add_argument("--whole_word_masking", action="store_true")
    parser.add_argument("--packed", action="store_true", help="several sequences per row")
    parser.add_argument("--sequences_per_row", type=int, default=8)
    parser.add_argument("--no_next_sentence", action="store_true")
    train = parser.add_argument_group("with --train")
    train.add_argument("--train", action="store_true", help="train a model on packed rows")
    train.add_argument("--size", default="base", choices=sorted(keras_bert.sizes.SIZES))
    train.add_argument("--num_layers", type=int, help="the size's own if not given")
    train.add_argument("--sequence_length", type=int, default=512)
    train.add_argument("--rows", type=int, default=4, help="rows per step")
    train.add_argument("--steps", type=int, default=4, help="steps per turn")
    train.add_argument("--turns", type=int, default=5)
    args = parser.parse_args(argv)
    if args.train and not args.corpus:
        parser.error("--train needs --corpus")
    return args


class Words:
    """Stand-in for a tokenizer, with the parts that a corpus needs."""

    lowercase = True

    def get_vocabulary(self):
        return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{i}" for i in range(30_000)]


def random_corpus(folder, num_shards=4, documents=500):
    """Writes about 5 million tokens in documents of about 2,500."""
    rng = np.random.default_rng(0)

    def records(index):
        for number in range(documents):
            lengths = 1 + rng.poisson(24, 100)
            yield index << 32 | number, rng.integers(5, 30_005, lengths.sum()), lengths

    counts = [
        write_shard(os.path.join(folder, shard_name(index, num_shards)), "uint16", records(index))
        for index in range(num_shards)
    ]
    finish_corpus(folder, Words(), counts)


def tokens_per_second(dataset):
    """Measures a full pass over `dataset`, without the first batch: speed, and real tokens."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    tokens = places = 0
    started = None
    for x, _, _ in dataset.with_options(options):
        if started is None:
            started = time.process_time()
        else:
            is_token = x["sequence_ids" if "sequence_ids" in x else "padding_mask"] != 0
            tokens += int(np.count_nonzero(is_token))
            places += is_token.shape.num_elements()
    return tokens / (time.process_time() - started), tokens / places


class Run:
    """A model and its endless batches, which are trained on for a few steps at a time."""

    def __init__(self, args, packed):
        import keras

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
        are_tokens = [np.asarray(mask) != 0 for mask in masks]
        started = time.perf_counter()
        for batch in batches:
            self.model.train_on_batch(*batch)
        seconds = time.perf_counter() - started
        self.speeds.append(sum(map(np.sum, are_tokens)) / seconds)
        self.fills.append(np.mean(are_tokens))


def compare_packed(args):
    """Trains with and without packing, in turns."""
    runs = {"one sequence per row": Run(args, False), "packed": Run(args, True)}
    for _ in range(args.turns):
        for run in runs.values():
            run.turn()
    print(processor())
    for name, run in runs.items():
        speed, fill = statistics.median(run.speeds), np.mean(run.fills)
        print(f"{name:22}{speed:9,.0f} real tokens/s, {fill:.1%} of places hold a token")
    plain, packed = (statistics.median(run.speeds) for run in runs.values())
    print(f"packed / one sequence per row: {packed / plain:.2f}")


def main(argv=None):
    args = parse_args(argv)
    if args.train:
        return compare_packed(args)
    with tempfile.TemporaryDirectory() as folder:
        if args.corpus is None:
            random_corpus(folder)
        corpus = keras_bert.Corpus(args.corpus or folder)
        for length in (128, 512):
            for batch_size in (32, 256):
                data = keras_bert.pretraining_dataset(
                    corpus,
                    batch_size=batch_size,
                    sequence_length=length,
                    whole_word_masking=args.whole_word_masking,
                    next_sentence=not args.no_next_sentence,
                    packed=args.packed,
                    sequences_per_row=args.sequences_per_row,
                    epochs=2,
                )
                speed, fill = tokens_per_second(data)
                print(
                    f"shards to masked batches, length {length}, batch {batch_size:3}: "
                    f"{speed / 1e6:5.2f} M tokens/s, {fill:.1%} of places hold a token",
                    flush=True,
                )


if __name__ == "__main__":
    main()
