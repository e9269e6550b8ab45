"""Measures tokens per second on one core, compared with Hugging Face tokenizers.

    python benchmarks/tokenizing.py
    python benchmarks/tokenizing.py --text novel.txt --vocabulary vocab.txt
    python benchmarks/tokenizing.py --prepare

The default text is Python's own reference, with a vocabulary learned from it; this takes about a
minute. The ops of TensorFlow run in tf.data. The tokenizers take turns in one process on one core.
Time is CPU time; the best turn of each counts. The first pass over texts, with empty caches, is
measured on its own, and compared with the first pass of Hugging Face tokenizers. `--prepare`
measures `prepare_corpus` instead, from text files to the shards of a corpus: reading, decoding,
finding sentences, tokenizing and writing.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from pydoc_data.topics import topics

os.environ["RAYON_NUM_THREADS"] = "1"

import tensorflow as tf
import tokenizers

import keras_bert
from keras_bert.graph.tokenizer import graph_tokenizer


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--text", nargs="+", help="UTF-8 text files; each line is a text")
    parser.add_argument("--prepare", action="store_true", help="measure prepare_corpus")
    parser.add_argument("--megabytes", type=int, default=8, help="default text of --prepare")
    parser.add_argument("--vocabulary", help="vocab.txt")
    parser.add_argument("--cased", action="store_true", help="the vocabulary is cased")
    parser.add_argument("--batch_size", type=int, default=1024, help="texts in a batch")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="approximate length of a turn")
    return parser.parse_args(argv)


def use_one_core():
    """Pins the process to its last core, and TensorFlow to one thread."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def read_text(paths):
    texts = [Path(path).read_text("utf-8-sig") for path in paths] if paths else topics.values()
    return [line for line in "\n".join(texts).split("\n") if line.strip()]


def write_text(folder, num_bytes):
    """Writes files of 1 MB each from Python's reference."""
    text = "\n\n".join(topics.values()).encode("utf-8")
    text *= -(-(10**6) // len(text))
    paths = [Path(folder, f"{i}.txt") for i in range(max(1, num_bytes // 10**6))]
    for path in paths:
        path.write_bytes(text[: 10**6])
    return paths


def measure_preparing(args, tokenizer):
    """Prints the speed of the best turn."""
    with tempfile.TemporaryDirectory() as folder:
        files = args.text or write_text(folder, args.megabytes * 10**6)
        num_bytes = sum(os.path.getsize(file) for file in files)
        seconds = []
        for turn in range(args.turns):
            started = time.process_time()
            output = Path(folder, f"corpus{turn}")
            corpus = keras_bert.prepare_corpus(
                files, output, tokenizer, num_workers=1, progress=False
            )
            seconds.append(time.process_time() - started)
    best = min(seconds)
    print(
        f"preparing: {corpus.num_tokens / best / 1e6:.2f} million tokens/s per core "
        f"({num_bytes / best / 1e6:.1f} MB/s; {corpus.num_tokens:,} tokens, "
        f"{corpus.num_sentences:,} sentences, {corpus.num_documents:,} documents)"
    )


def make_tokenizer(args, lines):
    if args.vocabulary:
        return keras_bert.BertTokenizer(args.vocabulary, lowercase=not args.cased)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.txt")
        path.write_text("\n".join(lines), encoding="utf-8")
        vocabulary = keras_bert.learn_vocabulary(
            path, 4000, lowercase=not args.cased, progress=False
        )
    return keras_bert.BertTokenizer(vocabulary, lowercase=not args.cased)


def in_dataset(lines, batch_size, tokenize):
    """Returns a function that runs a given number of passes and returns the number of tokens."""

    def count(texts):
        parts = tf.nest.flatten(tokenize(texts), expand_composites=False)
        used = [tf.reduce_max(part.flat_values) for part in parts]  # nothing is optimized away
        with tf.control_dependencies(used):
            return tf.size(parts[0].flat_values, tf.int64)

    batches = tf.data.Dataset.from_tensor_slices(lines).batch(batch_size).cache()
    list(batches)

    def run(number):
        counts = batches.repeat(number).map(count)
        return int(sum(counts.as_numpy_iterator()))

    return run


def in_python(lines, batch_size, tokenize):
    """Returns the same function for `flat_ids` or `flat_ids_with_offsets`."""
    batches = [lines[i : i + batch_size] for i in range(0, len(lines), batch_size)]
    return lambda number: sum(len(tokenize(b)[0]) for _ in range(number) for b in batches)


def with_hugging_face(lines, batch_size, tokenizer):
    """Returns the same function for Hugging Face tokenizers."""
    ids = {token: i for i, token in enumerate(tokenizer.get_vocabulary())}
    hugging_face = tokenizers.BertWordPieceTokenizer(ids, lowercase=tokenizer.lowercase)

    def run(number):
        tokens = 0
        for _ in range(number):
            for start in range(0, len(lines), batch_size):
                batch = lines[start : start + batch_size]
                encoded = hugging_face.encode_batch(batch, add_special_tokens=False)
                tokens += sum(map(len, encoded))
        return tokens

    return run


def first_passes(lines, batch_size, tokenizer):
    """Returns {name: tokens per second of a pass with empty caches}."""
    runs = {"Hugging Face tokenizers": with_hugging_face(lines, batch_size, tokenizer)}
    for name, method in (("ids", "flat_ids"), ("offsets", "flat_ids_with_offsets")):
        new = keras_bert.BertTokenizer.from_config(tokenizer.get_config())
        runs[f"BertTokenizer, {name}"] = in_python(lines, batch_size, getattr(new, method))
    speeds = {}
    for name, run in runs.items():
        start = time.process_time()
        speeds[name] = run(1) / (time.process_time() - start)
    return speeds


def measure(runs, turns, seconds):
    """Returns {name: tokens per second of the best turn}; the runs take turns."""
    passes, best = {}, dict.fromkeys(runs, 0.0)
    for name, run in runs.items():
        run(1)
        start = time.process_time()
        run(1)
        passes[name] = max(1, round(seconds / (time.process_time() - start)))
    for _ in range(turns):
        for name, run in runs.items():
            start = time.process_time()
            tokens = run(passes[name])
            best[name] = max(best[name], tokens / (time.process_time() - start))
    return best


def main(argv=None):
    args = parse_args(argv)
    use_one_core()
    lines = read_text(args.text)
    tokenizer = make_tokenizer(args, lines)
    if args.prepare:
        return measure_preparing(args, tokenizer)
    started = time.process_time()
    tokenizer = keras_bert.BertTokenizer.from_config(tokenizer.get_config())
    built = time.process_time()
    size, ops = args.batch_size, graph_tokenizer(tokenizer)
    first = first_passes(lines, size, tokenizer)
    runs = {
        "BertTokenizer, ids": in_python(lines, size, tokenizer.flat_ids),
        "BertTokenizer, offsets": in_python(lines, size, tokenizer.flat_ids_with_offsets),
        "TensorFlow ops, ids": in_dataset(lines, size, ops.tokenize),
        "TensorFlow ops, offsets": in_dataset(lines, size, ops.tokenize_with_offsets),
        "Hugging Face tokenizers": with_hugging_face(lines, size, tokenizer),
    }
    best = measure(runs, args.turns, args.seconds)
    print(
        f"tokenizing {', '.join(args.text or ['pydoc_data.topics'])}: {len(lines)} lines, "
        f"{tokenizer.vocabulary_size()} tokens in the vocabulary, one core; made in "
        f"{1000 * (built - started):.0f} ms"
    )
    for title, speeds in (("first pass", first), ("again", best)):
        for name, speed in speeds.items():
            ratio = speed / speeds["Hugging Face tokenizers"]
            label = f"{name}, {title}"
            print(f"  {label:<36} {speed / 1e6:6.2f} M tokens/s  {ratio:5.1f} x")


if __name__ == "__main__":
    main()
