"""Makes conlleval.json: the counts of CoNLL's own conlleval for random tags.

python tests/golden/make_conlleval.py path/of/conlleval.pl

`conlleval.pl` is Erik Tjong Kim Sang's script of CoNLL-2000 and 2003, run by perl.
"""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

TYPES = ["LOC", "PER", "creative-work"]
LETTERS = {"BIO, well formed and not": "BI", "I- alone": "I"}


def random_tags(generator, letters, length):
    tags = []
    for _ in range(length):
        repeats = tags and generator.random() < 0.3
        kind, type_ = generator.choice(letters), generator.choice(TYPES)
        if repeats and tags[-1] != "O":
            type_ = tags[-1][2:]
        tags.append("O" if generator.random() < 0.35 else f"{kind}-{type_}")
    return tags


def case(generator, letters):
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


def main(script):
    generator = random.Random(7)
    cases = []
    for name, letters in LETTERS.items():
        for _ in range(12):
            true, predicted = case(generator, letters)
            theirs = conlleval(script, true, predicted)
            cases.append({"tags": name, "true": true, "predicted": predicted, "theirs": theirs})
    path = Path(__file__).with_name("conlleval.json")
    path.write_text(json.dumps(cases, separators=(",", ":")) + "\n")
    print(f"{path}: {len(cases)} cases")


if __name__ == "__main__":
    main(sys.argv[1])
