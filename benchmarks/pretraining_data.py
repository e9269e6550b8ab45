"""Measures how fast a corpus becomes pre-training batches, on one core.

    python benchmarks/pretraining_data.py
    python benchmarks/pretraining_data.py --corpus corpus

Without `--corpus`, it makes a corpus of random tokens. It counts tokens, including special tokens
but not padding, per second of CPU time, and their share of the rows. It measures two epochs,
without their first batch.
"""

import argparse
import os
import tempfile
import time

if __name__ == "__main__" and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before TensorFlow counts the cores

import numpy as np
import tensorflow as tf

import keras_bert
from keras_bert.corpus.shard_writer import ShardWriter, shard_name
from keras_bert.corpus.shards import finish_corpus


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--corpus", help="folder of a corpus")
    parser.add_argument("--whole_word_masking", action="store_true")
    parser.add_argument("--packed", action="store_true", help="several sequences per row")
    parser.add_argument("--sequences_per_row", type=int, default=8)
    parser.add_argument("--no_next_sentence", action="store_true")
    return parser.parse_args(argv)


class Words:
    """Stand-in for a tokenizer, with the parts that a corpus needs."""

    lowercase = True

    def get_vocabulary(self):
        return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{i}" for i in range(30_000)]


def random_corpus(folder, num_shards=4, documents=500):
    """Writes about 5 million tokens in documents of about 2,500."""
    rng = np.random.default_rng(0)
    counts = []
    for index in range(num_shards):
        with ShardWriter(os.path.join(folder, shard_name(index, num_shards)), "uint16") as shard:
            for number in range(documents):
                lengths = 1 + rng.poisson(24, 100)
                tokens = rng.integers(5, 30_005, lengths.sum())
                shard.write(index << 32 | number, tokens, lengths)
        counts.append(shard.counts)
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


def main(argv=None):
    args = parse_args(argv)
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
