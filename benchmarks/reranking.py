"""Trains a reranker on SQuAD's questions, to find a question's paragraph among ten.

    python benchmarks/reranking.py --data data --model all-MiniLM-L6-v2

A query is a question, and its documents are the paragraph with the answer and nine others of the
same article. Training pairs each question with its paragraph and with two others. Prints MRR@10 of
the cosines of `--model`, and of the reranker before and after training.
"""

import argparse
import json
import random
from pathlib import Path

import keras

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", required=True, help="folder with squad/*.json")
    parser.add_argument("--model", required=True, help="weights of a sentence embedder")
    parser.add_argument("--questions", type=int, default=1300, help="to train on")
    parser.add_argument("--tested", type=int, default=300, help="questions to test on")
    parser.add_argument("--epochs", type=int, default=2)
    return parser.parse_args(argv)


def read(path, number, others):
    """Draws questions: `[(question, its paragraph, other paragraphs of the article)]`."""
    draw = random.Random(0)
    found = []
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
        for place, paragraph in enumerate(article["paragraphs"]):
            rest = contexts[:place] + contexts[place + 1 :]
            for each in paragraph["qas"]:
                found.append((each["question"], contexts[place], draw.sample(rest, others)))
    return draw.sample(found, number)


def reciprocal_rank(scores):
    """Scores a ranking whose first document is the right one; ties count as half."""
    return 1 / (1 + sum((score > scores[0]) + (score == scores[0]) / 2 for score in scores[1:]))


def main(argv=None):
    args = parse_args(argv)
    keras.utils.set_random_seed(0)
    squad = Path(args.data) / "squad"
    train = read(squad / "train-subset-v1.1.json", args.questions, others=2)
    test = read(squad / "dev-v1.1.json", args.tested, others=9)

    embedder = keras_bert.BertEmbedder.from_preset(args.model, sequence_length=192)
    ranks = []
    for question, paragraph, others in test:
        ranks.append(reciprocal_rank(embedder.similarity([question], [paragraph, *others])[0]))
    print(f"cosines: MRR@10 {sum(ranks) / len(ranks):.3f}", flush=True)

    reranker = keras_bert.BertReranker.from_preset(
        args.model, sequence_length=192, dtype="mixed_bfloat16"
    )

    def score():
        queries = [question for question, *_ in test for _ in range(10)]
        documents = [text for _, paragraph, others in test for text in (paragraph, *others)]
        scores = reranker.predict((queries, documents), verbose=0).reshape(-1, 10)
        return sum(map(reciprocal_rank, scores)) / len(scores)

    print(f"reranker, untrained: MRR@10 {score():.3f}", flush=True)
    pairs = [(q, text) for q, paragraph, others in train for text in (paragraph, *others)]
    relevance = [1.0, 0.0, 0.0] * len(train)
    steps = args.epochs * -(-len(pairs) // 16)
    rate = keras_bert.WarmupLinearDecay(5e-5, warmup_steps=steps // 10, total_steps=steps)
    reranker.compile(keras_bert.AdamW(rate))
    reranker.fit(pairs, relevance, epochs=args.epochs, batch_size=16, verbose=2)
    print(f"reranker, trained: MRR@10 {score():.3f}", flush=True)


if __name__ == "__main__":
    main()
