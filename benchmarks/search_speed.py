r"""Compares the speed of exact search in vectors with sentence-transformers.

    python benchmarks/search_speed.py
    python benchmarks/search_speed.py --documents 1000000

Random vectors stand for documents and queries, and their ten nearest are found by cosine. "Product"
is NumPy's matrix product of queries and documents alone. `semantic_search` of sentence-transformers
makes all vectors length 1 in each call; with `dot_score` it doesn't. The ways take turns; each
figure is the median of 9 turns, in milliseconds, with the fastest and the slowest.
"""

import argparse
import os
import statistics
import time
from functools import partial

if __name__ == "__main__":  # before Keras is imported
    os.environ.setdefault("KERAS_BACKEND", "torch")  # sentence-transformers' own

import numpy as np
from training_speed import processor

from keras_bert.metrics.nearest import nearest

TOP = 10


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--queries", type=int, nargs="+", default=[1, 64, 256])
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


def compared(documents, queries):
    import torch
    from sentence_transformers.util import dot_score, semantic_search

    theirs = torch.from_numpy(documents)
    asked = torch.from_numpy(queries)
    ways = {"product": lambda: queries @ documents.T}
    for similarity in ("cosine", "dot"):
        ways[f"search, {similarity}"] = partial(nearest, queries, documents, TOP, similarity)
    ways["semantic_search, dot"] = lambda: semantic_search(
        asked, theirs, top_k=TOP, score_function=dot_score
    )
    ways["semantic_search"] = lambda: semantic_search(asked, theirs, top_k=TOP)
    return milliseconds(ways, turns=9)


def main(argv=None):
    args = parse_args(argv)
    rng = np.random.default_rng(1)
    queries = rng.normal(size=(max(args.queries), args.width)).astype("float32")
    print(f"{processor()}, {len(os.sched_getaffinity(0))} cores; {args.documents:,} documents")
    documents = rng.normal(size=(args.documents, args.width)).astype("float32")
    for number in args.queries:
        for name, taken in compared(documents, queries[:number]).items():
            spread = f"{min(taken):.1f} to {max(taken):.1f}"
            print(f"{number} queries: {name} {statistics.median(taken):.1f} ms ({spread})")


if __name__ == "__main__":
    main()
