r"""Prepares a corpus of many short documents from each kind of file, and compares the shards.

    python benchmarks/sources.py --vocabulary vocab.txt

The documents, of 8 to 24 words of the vocabulary, are written as Parquet in row groups of 10,000,
as JSON lines compressed with zstd, and as one text file with a line between documents. Prints
seconds and the largest memory of a process for each, for Parquet also with two workers and on Beam,
and whether each way gives the same tokens in the same documents. Needs the extras `corpus` and
`beam`.
"""

import argparse
import collections
import hashlib
import json
import multiprocessing
import random
import resource
import tempfile
import time
from pathlib import Path

SEPARATOR = "***"


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocab.txt, uncased")
    parser.add_argument("--documents", type=int, default=1_000_000)
    return parser.parse_args(argv)


def write(folder, vocabulary, number, queue):
    """Writes the three files; puts their paths into a queue."""
    import pyarrow
    from pyarrow import parquet

    words = [word for word in vocabulary.read_text("utf-8").split() if word.isalpha()]
    draw = random.Random(1)
    texts = [" ".join(draw.choices(words, k=draw.randint(8, 24))) + "." for _ in range(number)]
    paths = [folder / name for name in ("rows.parquet", "rows.jsonl.zst", "lines.txt")]
    parquet.write_table(pyarrow.table({"text": texts}), paths[0], row_group_size=10_000)
    with pyarrow.CompressedOutputStream(str(paths[1]), "zstd") as file:
        for text in texts:
            file.write(f"{json.dumps({'text': text})}\n".encode())
    paths[2].write_text(f"\n{SEPARATOR}\n".join(texts), encoding="utf-8")
    queue.put(paths)


def prepare(path, output, vocabulary, options, queue):
    """Prepares a corpus in this process; puts seconds and the largest memory into a queue."""
    import keras_bert

    tokenizer = keras_bert.BertTokenizer(vocabulary)
    separator = rf"^{'[*]' * len(SEPARATOR)}$" if path.suffix == ".txt" else None
    started = time.monotonic()
    keras_bert.prepare_corpus(
        path, output, tokenizer, document_separator=separator, progress=False, **options
    )
    seconds = time.monotonic() - started
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    queue.put((seconds, max(resource.getrusage(kind).ru_maxrss for kind in kinds) / 2**10))


def documents_of(folder):
    """Counts the documents of a corpus by the hashes of their tokens."""
    import numpy as np

    import keras_bert
    from keras_bert.corpus.record_groups import parse_group, serialized_groups

    corpus, found = keras_bert.Corpus(folder), collections.Counter()
    for _, serialized in serialized_groups(corpus, np.array([0, 0])):
        group = parse_group(serialized, corpus.token_dtype)
        ids, starts = group.token_ids.numpy(), group.sentence_starts.numpy()
        bounds = starts[group.record_starts.numpy()]
        for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
            found[hashlib.sha1(ids[begin:end].tobytes()).digest()] += 1
    return found, corpus.num_tokens


def main(argv=None):
    args = parse_args(argv)
    context = multiprocessing.get_context("spawn")

    def run(
        function, *arguments
    ):  # a process begins with the memory of this one, which stays small
        process = context.Process(target=function, args=(*arguments, queue := context.Queue()))
        process.start()
        found = queue.get()
        process.join()
        return found

    with tempfile.TemporaryDirectory() as folder:
        folder, expected = Path(folder), None
        paths = run(write, folder, args.vocabulary, args.documents)
        ways = [(path, {"num_workers": 1}) for path in paths]
        ways += [(paths[0], {"num_workers": 2})]
        ways += [(paths[0], {"beam_options": ["--runner=DirectRunner"]})]
        measured = [
            run(prepare, path, folder / str(number), args.vocabulary, options)
            for number, (path, options) in enumerate(ways)
        ]
        for number, (path, options) in enumerate(ways):
            documents, num_tokens = documents_of(folder / str(number))
            expected = expected or documents
            seconds, memory = measured[number]
            print(
                f"{path.name}, {options}: {seconds:.1f} s, {memory:,.0f} MB, "
                f"{num_tokens:,} tokens, {'equal' if documents == expected else 'OTHERS'}"
            )


if __name__ == "__main__":
    main()
