r"""Trains search and reranking on SQuAD: which of all paragraphs answers a question?

    python benchmarks/retrieval.py --data data --model all-MiniLM-L6-v2
    python benchmarks/retrieval.py --data data --model all-MiniLM-L6-v2 --train_questions 200 \
        --test_questions 200 --reranked 20 --articles 3

The questions of the development set are asked of all its 2,067 paragraphs. Training is on questions
of 44 other articles. Prints MRR@10 and nDCG@10 of the embedder `--model`:

- untrained;
- trained on pairs, a question and its paragraph (`InBatchNegatives`);
- trained on the same with `--negatives` paragraphs mined by the untrained embedder;
- the last of these `--ways`, with its 50 nearest paragraphs reordered by a reranker, which is
  trained on pairs with relevance. Its negatives are drawn from the 100 nearest. As this takes long,
  only for the first `--reranked` questions; the embedder's figures for these are printed too.

sentence-transformers trains the same examples with its `MultipleNegativesRankingLoss`, in batches
in which no text is twice. Both take AdamW with BERT's defaults, a warm-up and a decay. Each seed
draws other questions to train on; the test questions stay. CPU minutes are those of all threads.
"""

import argparse
import json
import os
import random
import tempfile
import time
from pathlib import Path

LIBRARIES = ["keras_bert", "sentence_transformers"]
WAYS = ["untrained", "pairs", "negatives"]
TOP = 50


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder with squad/*.json")
    add("--model", required=True, help="folder of sentence-transformers")
    add("--articles", type=int, help="of each file, the first ones; all by default")
    add("--train_questions", type=int, default=2000)
    add("--test_questions", type=int, default=2000)
    add("--reranked", type=int, default=100, help="of the test questions; 0 for no reranker")
    add("--negatives", type=int, default=1, help="mined for a question")
    add("--epochs", type=int, default=1)
    add("--batch_size", type=int, default=32)
    add("--learning_rate", type=float, default=2e-5)
    add("--sequence_length", type=int, default=256)
    add("--seeds", type=int, default=1)
    add("--reranker_learning_rate", type=float, default=1e-4)
    add("--reranker_epochs", type=int, default=3)
    add("--ways", nargs="+", choices=WAYS, default=WAYS)
    add("--libraries", nargs="+", choices=LIBRARIES, default=LIBRARIES)
    return parser.parse_args(argv)


def read(path, articles, number, seed):
    """Returns drawn questions, the paragraph of each, and all different paragraphs."""
    articles = json.loads(path.read_text(encoding="utf-8"))["data"][:articles]
    paragraphs = [each for article in articles for each in article["paragraphs"]]
    pairs = [(asked["question"], p["context"]) for p in paragraphs for asked in p["qas"]]
    questions, answers = zip(*random.Random(seed).sample(pairs, number), strict=True)
    return list(questions), list(answers), [*dict.fromkeys(p["context"] for p in paragraphs)]


def scores(test, ranks, number=None):
    """Scores `(paragraph numbers, scores)` `[n, k]` for the first questions."""
    from keras_bert.metrics import retrieval_scores

    questions, answers, paragraphs = test
    relevance, run = {}, {}
    for question, answer, *rank in zip(questions[:number], answers, *ranks, strict=False):
        relevance.setdefault(question, {})[answer] = 1.0
        run[question] = {paragraphs[i]: float(score) for i, score in zip(*rank, strict=True)}
    found = retrieval_scores(relevance, run, k=10)
    return f"MRR@10 {found['mrr@10']:.4f}, nDCG@10 {found['ndcg@10']:.4f}"


def batches(columns, args, seed):
    """Batches for sentence-transformers: no text is twice in one."""
    rows, draw, found = [*zip(*columns, strict=True)], random.Random(seed), []
    for _ in range(args.epochs):
        waiting = draw.sample(rows, len(rows))
        while waiting:
            batch, later, texts = [], [], set()
            for row in waiting:
                is_free = len(batch) < args.batch_size and texts.isdisjoint(row)
                (batch if is_free else later).append(row)
                texts.update(row if is_free else ())
            found.append((*map(list, zip(*batch, strict=True)), None))
            waiting = later
    return found


def fit(model, args, rate, epochs, x, y=None):
    """Trains a model of keras_bert with a warm-up and a decay of the learning rate."""
    import keras_bert

    number = len(x[0] if y is None else y)
    steps = epochs * -(-number // args.batch_size)
    schedule = keras_bert.WarmupLinearDecay(rate, steps // 10, steps, continuous=True)
    model.compile(keras_bert.AdamW(schedule))
    model.fit(x, y, epochs=epochs, batch_size=args.batch_size, verbose=2)


def train(library, args, columns, seed):
    """Trains on columns of texts, if any; returns a model of keras_bert, or a function."""
    if library == "keras_bert":
        import keras

        import keras_bert

        keras.utils.set_random_seed(seed)
        model = keras_bert.BertEmbedder.from_preset(args.model)
        if columns:
            fit(model, args, args.learning_rate, args.epochs, columns)
        return model
    from embedder_training import train_sentence_transformers
    from sentence_transformers import SentenceTransformer

    if columns:
        *_, embed = train_sentence_transformers(args, seed, batches(columns, args, seed))
        return embed
    return SentenceTransformer(str(args.model), device="cpu").encode


def search(model, test):
    """Returns the numbers and the cosines of the nearest paragraphs, `[n, 50]` each."""
    questions, _, paragraphs = test
    if hasattr(model, "search"):
        return model.search(questions, paragraphs, TOP)
    from sentence_transformers.util import semantic_search

    found = semantic_search(model(questions), model(paragraphs), top_k=TOP)
    return [[[hit[key] for hit in row] for row in found] for key in ("corpus_id", "score")]


def rerank(args, columns, seed, test, numbers):
    """Trains a reranker; returns the nearest paragraphs in its order, as `search`."""
    import keras

    import keras_bert

    keras.utils.set_random_seed(seed)
    model = keras_bert.BertReranker.from_preset(args.model, dtype="mixed_bfloat16")
    fit(model, args, args.reranker_learning_rate, args.reranker_epochs, *columns)
    questions, _, paragraphs = test
    found = []
    for question, row in zip(questions[: args.reranked], numbers, strict=False):
        found.append(model.rank(question, [paragraphs[number] for number in row]))
    order = [[row[hit["index"]] for hit in hits] for row, hits in zip(numbers, found, strict=False)]
    return order, [[hit["score"] for hit in hits] for hits in found]


def with_all_negatives(mined, num_negatives):
    """Joins the negatives of each question and answer; returns columns of those with enough."""
    negatives = {}
    for question, answer, negative in zip(*mined, strict=True):
        negatives.setdefault((question, answer), []).append(negative)
    rows = [(*pair, *texts) for pair, texts in negatives.items() if len(texts) == num_negatives]
    return tuple(map(list, zip(*rows, strict=True)))


def labeled_pairs(mined, num_negatives, seed):
    """Draws negatives of each question; returns pairs of texts, and their relevance."""
    draw, negatives = random.Random(seed), {}
    for question, _, negative in zip(*mined, strict=True):
        negatives.setdefault(question, []).append(negative)
    pairs = [*dict.fromkeys(zip(*mined[:2], strict=True))]
    relevance = [1.0] * len(pairs)
    for question, near in negatives.items():
        pairs += [(question, text) for text in draw.sample(near, min(num_negatives, len(near)))]
    return pairs, relevance + [0.0] * (len(pairs) - len(relevance))


def run(args, seed, test):
    """Prints the scores of a seed."""
    began = time.process_time()

    def report(name, text):
        nonlocal began
        minutes, began = (time.process_time() - began) / 60, time.process_time()
        print(f"seed {seed}, {name}: {text} ({minutes:.1f} CPU min)", flush=True)

    path = args.data / "squad" / "train-subset-v1.1.json"
    *pairs, paragraphs = read(path, args.articles, args.train_questions, seed)
    embedder = train("keras_bert", args, None, seed)

    def mine(num_negatives):
        options = {"num_negatives": num_negatives, "relative_margin": 0.05}
        found = embedder.mine_hard_negatives(tuple(pairs), paragraphs, **options)
        report("mining", f"{len(found[-1])} rows with {num_negatives} negatives")
        return found

    mined = None
    if "negatives" in args.ways:
        mined = with_all_negatives(mine(args.negatives), args.negatives)
    for library in args.libraries:
        of_ways = {"untrained": None, "pairs": tuple(pairs), "negatives": mined}
        for name in args.ways:
            columns = of_ways[name]
            ranks = search(train(library, args, columns, seed), test)
            report(f"{library}, {name}", scores(test, ranks))
        if library == "keras_bert" and args.reranked:
            first = f"{args.reranked} questions"
            report(f"{library}, {name}, {first}", scores(test, ranks, args.reranked))
            labeled = labeled_pairs(mine(100), args.negatives, seed)
            order = rerank(args, labeled, seed, test, ranks[0])
            report(f"{library}, reranked, {first}", scores(test, order, args.reranked))


def main(argv=None):
    import keras_bert

    args = parse_args(argv)
    args.loss, args.dropout = "pairs", 0.1  # of embedder_training
    path = args.data / "squad" / "dev-v1.1.json"
    test = read(path, args.articles, args.test_questions, seed=0)
    length = {"sequence_length": args.sequence_length}
    with tempfile.TemporaryDirectory() as folder:  # from which both libraries take the length
        keras_bert.BertEmbedder.from_preset(args.model, **length).save_to_hugging_face(folder)
        args.model = folder
        for seed in range(args.seeds):
            run(args, seed, test)


if __name__ == "__main__":
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    main()
