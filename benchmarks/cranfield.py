r"""Searches the Cranfield collection: vectors, keywords, both fused, and a reranker.

    python benchmarks/cranfield.py --data data --model all-MiniLM-L6-v2

225 questions on aerodynamics are asked of 1,400 abstracts; people judged which answer them. Prints
nDCG@10, MRR@10 and recall@10 of

- the embedder's vectors, in float32, float16 and int8;
- BM25 (the package `bm25s`, English stop words, no stemming), and both fused by reciprocal ranks;
- the embedder trained on titles and their abstracts, with a negative mined for each, and this fused
  with BM25, too;
- the 20 first of the untrained fusion, reordered by a reranker trained on titles with their own and
  a mined abstract, in rows of 128 tokens.

Titles and abstracts are the collection's own: no question and no judgement is trained on. One seed.
"""

import argparse
import re
import time
from pathlib import Path

import numpy as np

DEPTH = 100  # documents that are found for a question
RERANKED = 20
TRAINED = ("reranker", "embedder")


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder with public/cranfield/")
    add("--model", required=True, help="folder of sentence-transformers")
    add("--sequence_length", type=int, default=256, help="tokens of a document")
    add("--batch_size", type=int, default=32, help="examples of a step in training")
    add("--train", nargs="*", choices=TRAINED, default=TRAINED, help="what to train; none if empty")
    add("--epochs", type=int, default=1, help="of the embedder and of the reranker")
    add("--learning_rate", type=float, default=2e-5, help="of the embedder")
    add("--reranker_learning_rate", type=float, default=1e-4)
    add("--seed", type=int, default=0)
    return parser.parse_args(argv)


def fields(path):
    """Reads the records of a file: `[{field: text}]`; `.I` begins one, and a field may go on."""
    text = path.read_text(encoding="utf-8")
    records = []
    for part in re.split(r"^\.(?=[ITABW]\b)", text, flags=re.MULTILINE)[1:]:
        if part[0] == "I":
            records.append({})
        words = [records[-1].get(part[0], ""), *part[1:].split()]
        records[-1][part[0]] = " ".join(words).strip()
    return [record for record in records if "W" in record]


def read(folder):
    """Returns documents, pairs of a title and an abstract, questions, and what is relevant.

    The last is `{question: {document: 1}}`, by their places. Abstracts begin with their titles,
    which the pairs leave out.
    """
    records = fields(folder / "cran.all.1400")
    documents = [f"{record['T']} {record['W']}" for record in records]
    abstracts = [record["W"].removeprefix(record["T"]).strip() for record in records]
    pairs = [(record["T"], text) for record, text in zip(records, abstracts, strict=True) if text]
    questions = [record["W"] for record in fields(folder / "cran.qry")]
    relevant = {}
    for line in (folder / "cranqrel").read_text().splitlines():
        question, document, _ = map(int, line.split())
        relevant.setdefault(str(question - 1), {})[str(document - 1)] = 1.0
    return documents, list(zip(*pairs, strict=True)), questions, relevant


def scores(relevant, found):
    """Scores rankings: for each question the numbers of documents, the best first."""
    import keras_bert

    ranked = {
        str(question): {str(number): -place for place, number in enumerate(numbers)}
        for question, numbers in enumerate(found)
    }
    own = keras_bert.metrics.retrieval_scores(relevant, ranked, k=10)
    return ", ".join(f"{name} {own[name]:.4f}" for name in ("ndcg@10", "mrr@10", "recall@10"))


def fused(*rankings):
    """Fuses rankings by reciprocal ranks (Cormack et al. 2009)."""
    found = []
    for lists in zip(*rankings, strict=True):
        points = {}
        for numbers in lists:
            for place, number in enumerate(numbers, 1):
                points[number] = points.get(number, 0) + 1 / (60 + place)
        found.append(sorted(points, key=points.get, reverse=True)[:DEPTH])
    return found


def keyword_search(documents, questions):
    import bm25s

    index = bm25s.BM25()
    index.index(bm25s.tokenize(documents, stopwords="en", show_progress=False), show_progress=False)
    asked = bm25s.tokenize(questions, stopwords="en", show_progress=False)
    return index.retrieve(asked, k=DEPTH, show_progress=False)[0].tolist()


def fit(model, args, rate, x, y=None):
    import keras_bert

    steps = args.epochs * len(x[0]) // args.batch_size
    schedule = keras_bert.WarmupLinearDecay(rate, warmup_steps=steps // 10, total_steps=steps)
    model.compile(keras_bert.AdamW(schedule))
    model.fit(x, y, epochs=args.epochs, batch_size=args.batch_size, verbose=2)


def main(argv=None):
    args = parse_args(argv)
    import keras
    from training_speed import processor

    import keras_bert

    keras.utils.set_random_seed(args.seed)
    documents, pairs, questions, relevant = read(args.data / "public" / "cranfield")
    print(f"{processor()}; {len(documents)} documents, {len(questions)} questions", flush=True)
    model = keras_bert.BertEmbedder.from_preset(args.model, sequence_length=args.sequence_length)

    def report(name, found):
        print(f"{name}: {scores(relevant, found)}", flush=True)
        return found

    started = time.perf_counter()
    vectors = model.encode_document(documents)
    print(f"vectors made in {time.perf_counter() - started:.0f} s")
    asked = model.encode_query(questions)
    by_vectors = report("vectors", model.search(asked, vectors, DEPTH)[0].tolist())
    by_words = report("BM25", keyword_search(documents, questions))
    both = report("both", fused(by_vectors, by_words))
    if not args.train:
        return
    titles, abstracts = map(list, pairs)
    queries, positives, negatives = model.mine_hard_negatives(
        (titles, abstracts), abstracts, num_negatives=1
    )
    if "reranker" in args.train:
        reranker = keras_bert.BertReranker.from_preset(args.model, sequence_length=128)
        x = (queries + queries, positives + negatives)
        y = np.repeat([1.0, 0.0], len(queries))
        fit(reranker, args, args.reranker_learning_rate, *shuffled(args.seed, x, y))
        report("both, 20 reranked", reranked(reranker, questions, documents, both))
    if "embedder" in args.train:
        fit(model, args, args.learning_rate, (queries, positives, negatives))
        found = model.search(questions, documents, DEPTH)[0].tolist()
        trained = report("trained vectors", found)
        report("trained, and BM25", fused(trained, by_words))


def shuffled(seed, x, y):
    order = np.random.default_rng(seed).permutation(len(y))
    return tuple([column[number] for number in order] for column in x), y[order]


def reranked(reranker, questions, documents, found):
    """Reorders the first documents of each question."""
    first = [numbers[:RERANKED] for numbers in found]
    rankings = []
    for question, numbers, all_numbers in zip(questions, first, found, strict=True):
        ranked = reranker.rank(question, [documents[number] for number in numbers])
        best = [numbers[answer["index"]] for answer in ranked]
        rankings.append(best + all_numbers[RERANKED:])
    return rankings


if __name__ == "__main__":
    main()
