"""Measures tokens per second from text files to the shards of a corpus, on one core.

    python benchmarks/preparing.py
    python benchmarks/preparing.py --text novels/*.txt --vocabulary vocab.txt

The default text is Python's own reference, repeated, with a vocabulary learned from it; this takes
about a minute. The time covers reading, decoding, finding sentences, tokenizing and writing, in
seconds of CPU time of one process. Starting Python is excluded. The best turn counts.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from pydoc_data.topics import topics

import tensorflow as tf

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--text", nargs="+", help="text files of prose")
    parser.add_argument("--vocabulary", help="vocab.txt")
    parser.add_argument("--cased", action="store_true", help="the vocabulary is cased")
    parser.add_argument("--megabytes", type=int, default=8, help="size of the default text")
    parser.add_argument("--turns", type=int, default=3)
    return parser.parse_args(argv)


def use_one_core():
    """Pins the process to its last core, and TensorFlow to one thread."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def write_text(folder, num_bytes):
    """Writes files of 1 MB each from Python's reference."""
    text = "\n\n".join(topics.values()).encode("utf-8")
    text *= -(-(10**6) // len(text))
    paths = [Path(folder, f"{i}.txt") for i in range(max(1, num_bytes // 10**6))]
    for path in paths:
        path.write_bytes(text[: 10**6])
    return paths


def make_tokenizer(args, files):
    vocabulary = args.vocabulary or keras_bert.learn_vocabulary(
        files[:1], 4000, lowercase=not args.cased, progress=False
    )
    return keras_bert.BertTokenizer(vocabulary, lowercase=not args.cased)


def main(argv=None):
    args = parse_args(argv)
    use_one_core()
    with tempfile.TemporaryDirectory() as folder:
        files = args.text or write_text(folder, args.megabytes * 10**6)
        num_bytes = sum(os.path.getsize(file) for file in files)
        tokenizer = make_tokenizer(args, files)
        tokenizer(["The first call builds tables; it must not count."])
        seconds = []
        for turn in range(args.turns):
            started = time.process_time()
            corpus = keras_bert.prepare_corpus(
                files, Path(folder, f"corpus{turn}"), tokenizer, num_workers=1, progress=False
            )
            seconds.append(time.process_time() - started)
    best = min(seconds)
    print(
        f"preparing: {corpus.num_tokens / best / 1e6:.2f} million tokens/s per core "
        f"({num_bytes / best / 1e6:.1f} MB/s; {corpus.num_tokens:,} tokens, "
        f"{corpus.num_sentences:,} sentences, {corpus.num_documents:,} documents)"
    )


if __name__ == "__main__":
    main()
