"""Compares `few_labels.py` with `finetune_classifier.py` on the same few examples.

    python benchmarks/few_labels.py --data data --model all-MiniLM-L6-v2 --examples 8 16 64

For each number of examples per class, and for each seed, both recipes start from the same weights
and train on the same examples of the sentiment data, drawn by the seed. It prints the accuracy on
the test set of each run, then the mean and the standard deviation over the seeds. Fine-tuning
keeps the best of 10 epochs by 60 more examples, which is an advantage over `few_labels.py`.
"""

import argparse
import csv
import gc
import itertools
import json
import statistics
import sys
import tempfile
from pathlib import Path

import keras

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recipes"))
import few_labels  # noqa: E402
import finetune_classifier  # noqa: E402

COLUMNS = ["--text_column", "Text", "--label_column", "Sentiment"]
EPOCHS = {8: 20, 16: 20, 64: 5}  # of few_labels


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", required=True, help="folder with sentiment/*.tsv")
    parser.add_argument("--model", required=True, help="weights of a sentence embedder")
    parser.add_argument("--examples", type=int, nargs="+", default=[8, 16, 64], help="per class")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--precision", default="mixed_bfloat16")
    return parser.parse_args(argv)


def accuracies(args, number, seed, folder):
    """Trains both recipes on the examples of a seed; returns the accuracies on the test set."""
    data = Path(args.data) / "sentiment"
    common = ["--init", args.model, "--seed", str(seed), "--precision", args.precision, *COLUMNS]
    few = [*common, "--dev", str(data / "test.tsv"), "--output", str(folder / "few")]
    few += ["--epochs", str(EPOCHS.get(number, 10))]
    read = few_labels.parse_args([*few, "--train", str(data / "train.tsv")])
    texts, labels = few_labels.drawn(*few_labels.read_examples(read.train, read), number, seed)
    with open(folder / "train.tsv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerows([("Sentiment", "Text"), *zip(labels, texts, strict=True)])
    with open(data / "dev.tsv", encoding="utf-8") as dev:
        (folder / "dev.tsv").write_text("".join(itertools.islice(dev, 61)), encoding="utf-8")
    few_labels.main([*few, "--train", str(folder / "train.tsv")])
    keras.backend.clear_session()
    gc.collect()
    files = [f"--train={folder / 'train.tsv'}", f"--dev={folder / 'dev.tsv'}"]
    files += [f"--test={data / 'test.tsv'}", f"--output={folder / 'fine'}"]
    finetune_classifier.main([*common, *files, "--epochs", "10", "--batch_size", "16"])
    keras.backend.clear_session()
    gc.collect()
    paths = {"few_labels": "few/scores.json", "finetune_classifier": "fine/test_scores.json"}
    return {
        name: json.loads((folder / path).read_text())["accuracy"] for name, path in paths.items()
    }


def main(argv=None):
    args = parse_args(argv)
    for number in args.examples:
        runs = []
        for seed in range(args.seeds):
            with tempfile.TemporaryDirectory() as folder:
                runs.append(accuracies(args, number, seed, Path(folder)))
            print(f"{number} examples a class, seed {seed}: {runs[-1]}", flush=True)
        for name in runs[0]:
            found = [run[name] for run in runs]
            spread = statistics.stdev(found) if len(found) > 1 else 0.0
            print(
                f"{number} examples a class, {name}: {statistics.mean(found):.4f} +- {spread:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
