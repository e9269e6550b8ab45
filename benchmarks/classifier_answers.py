"""Are a classifier's probabilities, its threshold and its explanations right on other texts?

    python benchmarks/classifier_answers.py --model all-MiniLM-L6-v2 --data data

Of a classifier fine-tuned with each seed it prints, on the test set:

- the expected calibration error before and after `calibrate` on the development set;
- with two classes, F1 at a threshold of .5, and at that of `choose_threshold`, chosen on the same;
- of the first `--explained` texts, how far the log-odds of the answer fall when the `--removed`
  words with the highest weights of `explain` are taken out, and when as many random ones are; how
  many answers change; and the error of the weights' sum.

`sentiment` is reviews of up to 128 tokens, `nli` pairs of sentences with three classes, `entailed`
the same with two: entailed or not, which is one in three.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import _small_tasks as small_tasks
import keras
import numpy as np
from scipy.special import log_softmax

from keras_bert.metrics import expected_calibration_error


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--model", required=True, help="source for BertClassifier.from_preset")
    add("--data", type=Path, required=True, help="folder with sentiment/ and nli/")
    tasks = ["sentiment", "nli", "entailed"]
    add("--tasks", nargs="+", default=tasks, choices=tasks)
    add("--explained", type=int, default=100, help="of the reviews; 0 for none")
    add("--removed", type=int, default=10, help="words of a review")
    add("--epochs", type=int, default=2)
    add("--learning_rate", type=float, default=1e-4)
    add("--seeds", type=int, nargs="+", default=[1, 2, 3])
    return parser.parse_args(argv)


def read(task, folder):
    if task != "entailed":
        return small_tasks.READ[task](folder)
    parts, length = small_tasks.nli(folder)
    return [
        (x, ["yes" if label == "entailment" else "no" for label in y]) for x, y in parts
    ], length


def probabilities(model, x, y):
    """Returns class numbers `[n]`, and probabilities `[n, C]` that add up to 1."""
    found = np.exp(log_softmax(model.predict(x, verbose=0).astype("float64"), axis=-1))
    return np.asarray(model.preprocessor.targets(y)).reshape(-1), found.clip(0, 1)


def answers(model, data):
    """`{what: value}` before and after calibration and the choice of a threshold, in percent."""
    _, dev, test = data
    found = {"accuracy": 100 * model.scores(*test)["accuracy"]}
    found["calibration error"] = 100 * expected_calibration_error(*probabilities(model, *test))
    found["temperature"] = model.calibrate(*dev)["temperature"]
    found["calibrated"] = 100 * expected_calibration_error(*probabilities(model, *test))
    if model.num_classes == 2:
        found["F1 at .5"] = 100 * model.scores(*test)["f1"]
        found["threshold"] = model.choose_threshold(*dev)
        found["F1 at the threshold"] = 100 * model.scores(*test)["f1"]
    return found


def log_odds(model, texts, classes):
    found = log_softmax(model.predict(texts, verbose=0).astype("float64"), axis=-1)
    chosen = np.take_along_axis(found, classes[:, None], axis=1)[:, 0]
    return chosen - np.log(-np.expm1(chosen))


def without(text, explained, words):
    """Returns the text that was explained, less these words."""
    starts, ends = explained["word_start"], explained["word_end"]
    parts, place = [], 0
    for word in sorted(words, key=lambda word: starts[word]):
        parts.append(text[place : starts[word]])
        place = ends[word]
    return "".join(parts) + text[place : ends.max()]


def deletions(model, texts, number, seed):
    """How far log-odds fall without the heaviest and without random words."""
    draw, kept = np.random.default_rng(seed), {"whole": [], "heaviest": [], "random": []}
    errors = []
    for text in texts:
        explained = model.explain(text)
        weights = explained["word_weight"]
        heaviest = np.argsort(-weights, kind="stable")[:number]
        others = draw.choice(len(weights), min(number, len(weights)), replace=False)
        for way, words in zip(kept, ((), heaviest, others), strict=True):
            kept[way].append(without(text, explained, words))
        errors.append(explained["error"])
    classes = model.predict(kept["whole"], verbose=0).argmax(axis=-1)
    whole, *ways = (log_odds(model, kept[way], classes) for way in kept)
    found = {"error of the sum": 100 * np.mean(errors), "log-odds": whole.mean()}
    for name, left in zip(("heaviest", "random"), ways, strict=True):
        found[f"fall, {name}"] = (whole - left).mean()
        found[f"changed, {name}"] = 100 * (left < 0).mean()
    return found


def main(argv=None):
    args = parse_args(argv)
    for task in args.tasks:
        data, length = read(task, args.data)
        (x, y), _, (test_texts, _) = data
        rows = []
        for seed in args.seeds:
            keras.utils.set_random_seed(seed)
            model = small_tasks.make(task, data, args.model, length)
            small_tasks.train(model, x, y, args.epochs, args.learning_rate)
            found = answers(model, data)
            if task == "sentiment" and args.explained:
                texts = test_texts[: args.explained]
                found.update(deletions(model, texts, args.removed, seed))
            rows.append(found)
            shown = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
            print(f"{task}, seed {seed}: {shown}", flush=True)
        for name in rows[0]:
            values = [found[name] for found in rows]
            print(f"| {task}: {name} | {np.mean(values):.2f} ± {np.std(values):.2f} |")


if __name__ == "__main__":
    main()
