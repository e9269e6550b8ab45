"""Makes squad.json: the scores that SQuAD's own scripts give to made-up answers.

python tests/golden/make_squad.py path/of/evaluate-v1.1.py path/of/evaluate-v2.0.py
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

WORDS = "a the An red Red, fox's fox jump(ed) 7.5 café straße — the-end an' İ ① “so” .".split()


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


def main(first_script, second_script):
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
    path = Path(__file__).with_name("squad.json")
    path.write_text(json.dumps(cases, separators=(",", ":"), ensure_ascii=False) + "\n")
    print(f"{path}: {len(cases)} cases")


if __name__ == "__main__":
    main(*sys.argv[1:])
