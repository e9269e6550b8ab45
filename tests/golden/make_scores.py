"""Makes conlleval.json, retrieval.json and squad.json: what others' programs say of random answers.

    pip install pytrec-eval-terrier
    python tests/golden/make_scores.py conlleval.pl evaluate-v1.1.py evaluate-v2.0.py

`conlleval.pl` is Erik Tjong Kim Sang's script of CoNLL-2000 and 2003, run by perl; the others are
SQuAD's own. pytrec_eval (Van Gysel and de Rijke 2018) calls trec_eval 9, which has no reciprocal
rank with a cutoff: the ranking is cut first.
"""

import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytrec_eval

TYPES = ["LOC", "PER", "creative-work"]
LETTERS = {"BIO, well formed and not": "BI", "I- alone": "I"}
K = 3
WORDS = "a the An red Red, fox's fox jump(ed) 7.5 café straße — the-end an' İ ① “so” .".split()


def random_tags(generator, letters, length):
    tags = []
    for _ in range(length):
        repeats = tags and generator.random() < 0.3
        kind, type_ = generator.choice(letters), generator.choice(TYPES)
        if repeats and tags[-1] != "O":
            type_ = tags[-1][2:]
        tags.append("O" if generator.random() < 0.35 else f"{kind}-{type_}")
    return tags


def tags_of_both(generator, letters):
    true = [random_tags(generator, letters, generator.randint(1, 12)) for _ in range(25)]
    predicted = [
        [tag if generator.random() < 0.6 else random_tags(generator, letters, 1)[0] for tag in tags]
        for tags in true
    ]
    return true, predicted


def conlleval(script, true, predicted):
    lines = [
        "\n".join(f"w {a} {b}" for a, b in zip(*pair, strict=True)) + "\n"
        for pair in zip(true, predicted, strict=True)
    ]
    text = subprocess.check_output(["perl", script], input="\n".join(lines), text=True)
    found = r"tokens with (\d+) phrases; found: (\d+) phrases; correct: (\d+)"
    number = r"\s*([\d.]+)"
    rows = rf"(\S+): precision:{number}%; recall:{number}%; FB1:{number}(?:  (\d+))?"
    return {
        "counts": [int(n) for n in re.search(found, text).groups()],
        "percents": {name: [float(n) for n in rest[:3]] for name, *rest in re.findall(rows, text)},
        "accuracy": float(re.search(rf"accuracy:{number}%", text)[1]),
    }


def conlleval_cases(script):
    generator = random.Random(7)
    cases = []
    for name, letters in LETTERS.items():
        for _ in range(12):
            true, predicted = tags_of_both(generator, letters)
            theirs = conlleval(script, true, predicted)
            cases.append({"tags": name, "true": true, "predicted": predicted, "theirs": theirs})
    return cases


def mean(relevance, scores, measure):
    """The mean of a measure over queries; those without scores are 0, as with `-c`."""
    found = pytrec_eval.RelevanceEvaluator(relevance, {measure}).evaluate(scores)
    name = measure.replace(".", "_")
    return sum(query[name] for query in found.values()) / len(relevance)


def cut(documents):
    """The first K documents in the order of trec_eval."""
    order = sorted(documents, key=lambda name: (documents[name], name), reverse=True)
    return {name: documents[name] for name in order[:K]}


def retrieval_cases():
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
    return cases


def phrase(generator, most):
    return " ".join(generator.choice(WORDS) for _ in range(generator.randint(1, most)))


def questions(generator, number, is_second):
    for index in range(number):
        answers = [phrase(generator, 4) for _ in range(generator.randint(1, 3))]
        question = {"id": f"q{index}", "question": "?"}
        if is_second:
            question["is_impossible"] = generator.random() < 0.4
            answers = [] if question["is_impossible"] else answers
        question["answers"] = [{"text": text, "answer_start": 0} for text in answers]
        yield question


def prediction(generator, question, is_second):
    drawn = generator.random()
    if is_second and drawn < 0.2:
        return ""
    if question["answers"] and drawn < 0.5:
        return generator.choice(question["answers"])["text"].upper()
    if question["answers"] and drawn < 0.8:
        return generator.choice(question["answers"])["text"] + " " + phrase(generator, 2)
    return phrase(generator, 3)


def official(script, data, predictions, null_odds=None):
    with tempfile.TemporaryDirectory() as folder:
        arguments = []
        for name, value in (("data", data), ("answers", predictions), ("odds", null_odds)):
            path = Path(folder) / f"{name}.json"
            path.write_text(json.dumps(value))
            option = ["--na-prob-file"] if name == "odds" else []
            arguments += [] if value is None else [*option, str(path)]
        return json.loads(subprocess.check_output([sys.executable, script, *arguments]))


def squad_cases(first_script, second_script):
    cases = []
    for seed in range(6):
        generator, is_second = random.Random(seed), seed >= 2
        asked = list(questions(generator, 60, is_second))
        predictions = {q["id"]: prediction(generator, q, is_second) for q in asked}
        article = {"title": "", "paragraphs": [{"context": "", "qas": asked}]}
        data = {"version": "v2.0" if is_second else "1.1", "data": [article]}
        odds = None
        if seed >= 4:  # with ties
            odds = {q["id"]: round(generator.uniform(-3, 3), 1) for q in asked}
        script = second_script if is_second else first_script
        theirs = official(script, data, predictions, odds)
        case = {"questions": asked, "predictions": predictions, "odds": odds, "theirs": theirs}
        cases.append(case)
    return cases


if __name__ == "__main__":
    conlleval_script, *squad_scripts = sys.argv[1:]
    for name, cases in (
        ("conlleval", conlleval_cases(conlleval_script)),
        ("retrieval", retrieval_cases()),
        ("squad", squad_cases(*squad_scripts)),
    ):
        text = json.dumps(cases, separators=(",", ":"), ensure_ascii=name != "squad")
        Path(__file__).with_name(f"{name}.json").write_text(text + "\n", encoding="utf-8")
