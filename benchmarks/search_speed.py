r"""Compares the speed of exact search in vectors with sentence-transformers.

    python benchmarks/search_speed.py
    python benchmarks/search_speed.py --documents 1000000 --folder index

Random vectors stand for documents and queries, and their ten nearest are found by cosine. "Product"
is NumPy's matrix product of queries and documents alone. `semantic_search` of sentence-transformers
makes all vectors length 1 in each call; with `dot_score` it doesn't. The ways take turns; each
figure is the median of 9 turns, in milliseconds, with the fastest and the slowest. `--folder` saves
the index as well, and searches it from the disk, in a process of its own that prints its memory, on
Linux.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

if __name__ == "__main__":  # before Keras is imported
    os.environ.setdefault("KERAS_BACKEND", "torch")  # sentence-transformers' own

import numpy as np
from training_speed import processor

from keras_bert import VectorIndex

TOP = 10


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--queries", type=int, nargs="+", default=[1, 32, 256])
    parser.add_argument("--dtypes", nargs="+", default=["float32", "float16", "int8"])
    parser.add_argument("--folder", help="where to save the index and search it from the disk")
    parser.add_argument("--load", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def milliseconds(ways, turns):
    """Returns `{way: the milliseconds of each turn}`; a first turn doesn't count."""
    taken = {name: [] for name in ways}
    for turn in range(turns + 1):
        for name, run in ways.items():
            started = time.perf_counter()
            run()
            if turn:
                taken[name].append(1e3 * (time.perf_counter() - started))
    return taken


def compared(documents, queries, indexes):
    import torch
    from sentence_transformers.util import dot_score, semantic_search

    theirs = torch.from_numpy(documents)
    asked = torch.from_numpy(queries)
    ways = {"product": lambda: queries @ documents.T}
    for dtype, index in indexes.items():
        ways[f"VectorIndex, {dtype}"] = lambda index=index: index.search(queries, TOP)
    ways["VectorIndex made of the vectors"] = lambda: VectorIndex(documents).search(queries, TOP)
    ways["semantic_search, dot"] = lambda: semantic_search(
        asked, theirs, top_k=TOP, score_function=dot_score
    )
    ways["semantic_search"] = lambda: semantic_search(asked, theirs, top_k=TOP)
    return milliseconds(ways, turns=9)


def search_from_disk(args, queries):
    index = VectorIndex.load(args.folder)
    for number in args.queries:
        some = queries[:number]
        [taken] = milliseconds({"": lambda some=some: index.search(some, TOP)}, 3).values()
        print(f"{number} queries, from the disk: {statistics.median(taken):.0f} ms")
    with open("/proc/self/status", encoding="ascii") as status:
        [own] = [line.split()[1] for line in status if line.startswith("RssAnon")]
    print(f"memory without the mapped file: {int(own) / 2**10:.0f} MiB")


def main(argv=None):
    args = parse_args(argv)
    rng = np.random.default_rng(1)
    queries = rng.normal(size=(max(args.queries), args.width)).astype("float32")
    if args.load:
        return search_from_disk(args, queries)
    print(f"{processor()}, {len(os.sched_getaffinity(0))} cores; {args.documents:,} documents")
    documents = rng.normal(size=(args.documents, args.width)).astype("float32")
    indexes = {}
    for dtype in args.dtypes:
        started = time.perf_counter()
        indexes[dtype] = VectorIndex(documents, dtype=dtype)
        print(f"{dtype}: made in {time.perf_counter() - started:.2f} s")
    for number in args.queries:
        for name, taken in compared(documents, queries[:number], indexes).items():
            spread = f"{min(taken):.1f} to {max(taken):.1f}"
            print(f"{number} queries: {name} {statistics.median(taken):.1f} ms ({spread})")
    if args.folder:
        started = time.perf_counter()
        indexes["float32"].save(args.folder)
        print(f"saved in {time.perf_counter() - started:.1f} s", flush=True)
        options = ["--folder", args.folder, "--load", "--queries", *map(str, args.queries)]
        subprocess.run([sys.executable, __file__, *options], check=True)


if __name__ == "__main__":
    main()
