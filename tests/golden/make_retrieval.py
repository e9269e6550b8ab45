"""Makes retrieval.json: the scores that trec_eval gives for random rankings with ties.

pip install pytrec-eval-terrier
python tests/golden/make_retrieval.py

Source: Van Gysel and de Rijke 2018, pytrec_eval, which calls trec_eval 9. It has no reciprocal rank
with a cutoff: the ranking is cut first.
"""

import json
import random
from pathlib import Path

import pytrec_eval

K = 3


def mean(relevance, scores, measure):
    """The mean of a measure over queries; those without scores are 0, as with `-c`."""
    found = pytrec_eval.RelevanceEvaluator(relevance, {measure}).evaluate(scores)
    name = measure.replace(".", "_")
    return sum(query[name] for query in found.values()) / len(relevance)


def cut(documents):
    """The first K documents in the order of trec_eval."""
    order = sorted(documents, key=lambda name: (documents[name], name), reverse=True)
    return {name: documents[name] for name in order[:K]}


def main():
    generator = random.Random(3)
    cases = []
    for case in range(20):
        relevance, scores = {}, {}
        for query in "abcde"[: 1 + case % 5]:
            names = [f"d{number}" for number in range(generator.randint(1, 12))]
            judged = {name: generator.choice([-1, 0, 0, 1, 2, 3]) for name in names}
            judged = judged if generator.random() < 0.8 else dict.fromkeys(names, 0)
            relevance[query] = {n: r for n, r in judged.items() if generator.random() < 0.9}
            relevance[query] = relevance[query] or {names[0]: 1}
            scores[query] = {name: generator.choice([0.25, 0.5, 0.75, 1.0, 2.5]) for name in names}
        if case % 4 == 3 and len(scores) > 1:  # the search found nothing
            del scores["b"]
        theirs = {
            f"mrr@{K}": mean(relevance, {q: cut(d) for q, d in scores.items()}, "recip_rank"),
            f"ndcg@{K}": mean(relevance, scores, f"ndcg_cut.{K}"),
            f"recall@{K}": mean(relevance, scores, f"recall.{K}"),
            f"map@{K}": mean(relevance, scores, f"map_cut.{K}"),
            "map": mean(relevance, scores, "map"),
        }
        cases.append({"relevance": relevance, "scores": scores, "k": K, "theirs": theirs})
    path = Path(__file__).with_name("retrieval.json")
    path.write_text(json.dumps(cases, separators=(",", ":")) + "\n")
    print(f"{path}: {len(cases)} cases")


if __name__ == "__main__":
    main()
