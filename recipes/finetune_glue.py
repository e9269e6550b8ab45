r"""Fine-tunes BERT on a GLUE task, once or over the paper's grid, and answers its test set.

    python recipes/finetune_glue.py --init bert/preset --task mrpc --data glue_data/MRPC \
        --output mrpc --grid

The paper tries batches of 16 and 32, learning rates of 5e-5, 3e-5 and 2e-5, and 2, 3 and 4 epochs.
Each combination is a separate run, because the rate falls linearly to 0 over all epochs. For
BERT-large the paper adds several random restarts (`--seeds 0 1 2`). The best run on the development
set is kept. Without `--grid` there is one run, or one per combination of the listed values. With
BERT-base the paper reports these scores on the test sets: MNLI 84.6/83.4, QQP 71.2, QNLI 90.5,
SST-2 93.5, CoLA 52.1, STS-B 85.8, MRPC 88.9 and RTE 66.4.

OUTPUT/results.tsv has a row for each epoch of each run. OUTPUT/best is the preset of the best epoch
of the best run. OUTPUT/submission has its answers to the test set in the format of GLUE's server,
and OUTPUT/dev its answers to the development set. Rerun the same command to resume: finished runs
are skipped, and new values add new runs. TensorFlow holds the memory of each run until the process
ends, about 2 GB for BERT-base; if memory runs out, rerun.

With `--task all`, `--data` is the folder of all tasks. Each task found there runs in a process of
its own, as above, in OUTPUT/TASK. OUTPUT/glue.md is then the model's row of the paper's table 1, on
the development sets: of each task the setting that is best over all seeds, as mean and standard
deviation, and the average. glue.csv has each seed, and submission.zip is what GLUE's server takes.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np

import _shared
import keras_bert
from glue.reading import read_glue, read_tfds
from glue.results import glue_folders, read_glue_results
from glue.submission import write_glue_submission, zip_glue_submissions
from glue.tasks import TASKS, glue_scores
from paper.scores import write_score_table
from paper.tables import paper_table

TASK_CHOICES = ["all", *(task for task in TASKS if task != "ax")]  # ax has a test set alone
GRID = {"batch_size": [16, 32], "learning_rate": [5e-5, 3e-5, 2e-5], "epochs": [2, 3, 4]}
MODEL = ["task", "init", "from_scratch", "keep_layers", "sequence_length"]


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("--task", required=True, choices=TASK_CHOICES, help="GLUE task")
    add("--data", help="the task's folder of TSV files, or the data directory of tfds")
    add("--source", default="tsv", choices=["tsv", "tfds"], help="tfds: tensorflow-datasets")
    add("--diagnostic", help="folder of the diagnostic set AX, answered by an MNLI model")
    add("--no_test", action="store_true", help="don't answer the test set")
    add("--grid", action="store_true", help="the paper's values of the next three, if not given")
    add("--batch_sizes", type=int, nargs="+", help="replaces --batch_size")
    add("--learning_rates", type=float, nargs="+", help="replaces --learning_rate")
    add("--epoch_counts", type=int, nargs="+", help="replaces --epochs; each is a separate run")
    add("--seeds", type=int, nargs="+", help="replaces --seed")
    _shared.add_finetuning_arguments(parser)
    parser.set_defaults(learning_rate=2e-5, select="score")
    args = parser.parse_args(argv)
    if args.data is None and args.source == "tsv":
        parser.error("--data is needed: the folder of the task's TSV files")
    if args.task == "all" and args.source != "tsv":
        parser.error("--task all reads folders of TSV files, not tensorflow-datasets")
    if args.diagnostic is not None and args.task != "mnli":
        parser.error(f"--diagnostic needs a model of mnli, not of {args.task}")
    if args.source == "tfds" and importlib.util.find_spec("tensorflow_datasets") is None:
        parser.error("--source tfds needs a package: pip install tensorflow-datasets")
    return args


def grid_of(args):
    """Returns the values of each setting: those that are listed, the paper's, or a single one."""
    listed = {
        "seed": args.seeds,
        "batch_size": args.batch_sizes,
        "learning_rate": args.learning_rates,
        "epochs": args.epoch_counts,
    }
    if args.tokens_per_batch:  # which replaces the batch size
        listed["batch_size"] = [args.batch_size]
    grid = {}
    for name, values in listed.items():
        one = [getattr(args, name)]
        grid[name] = values or (GRID.get(name, one) if args.grid else one)
    return grid


def read_splits(args):
    """Reads `(train, [dev], [test])`, `GlueExamples`; MNLI has two dev and two test sets."""
    read_split = read_tfds if args.source == "tfds" else read_glue
    read = {}
    for split in TASKS[args.task].files:
        if not (args.no_test and split.startswith("test")):
            read[split] = read_split(args.data, args.task, split)
    if args.diagnostic is not None:
        read["test_ax"] = read_glue(args.diagnostic, "ax", "test")
    for split, examples in read.items():
        print(f"{examples.task} {split}: {len(examples):,} examples")
    dev, test = ([read[s] for s in read if s.startswith(part)] for part in ("dev", "test"))
    return read["train"], dev, test


def make_model(args, label_names):
    """Makes the classifier; without label names, it predicts a number."""
    return keras_bert.BertClassifier.from_preset(
        args.init,
        **_shared.loading_settings(args),
        num_classes=1 if label_names is None else len(label_names),
        label_names=label_names,
    )


def predictions(answers, label_names):
    """Returns class numbers, or the scores of a regression."""
    if label_names is None:
        return np.array([answer["score"] for answer in answers])
    return np.array([label_names.index(answer["label"]) for answer in answers])


def joined(parts):
    """Returns `(texts, labels)` of all development sets together."""
    columns = zip(*(part.texts for part in parts), strict=True)
    texts = tuple(sum(map(list, column), []) for column in columns)
    return texts, np.concatenate([part.labels for part in parts])


def score(dev, predicted):
    """Returns GLUE's scores; MNLI's `score` is the mean over its two development sets."""
    cuts = np.cumsum([len(part) for part in dev])[:-1]
    scores = [
        glue_scores(part.task, part.labels, some)
        for part, some in zip(dev, np.split(predicted, cuts), strict=True)
    ]
    if len(scores) == 1:
        return scores[0]
    matched, mismatched = (one["accuracy"] for one in scores)
    mean = (matched + mismatched) / 2
    return {"accuracy": matched, "mismatched_accuracy": mismatched, "score": mean}


def run_all(args, argv):
    """Runs each task, and writes the table and the submission of all."""
    folders = glue_folders(args.data, with_test=not args.no_test)
    diagnostic, done = folders.pop("ax", None), []
    for task, folder in folders.items():
        own = ["--task", task, "--data", folder, "--output", f"{args.output}/{task}"]
        if task == "mnli" and diagnostic and not args.no_test:
            own += ["--diagnostic", diagnostic]
        print(f"{task}: {folder}", flush=True)
        process = [sys.executable, Path(__file__).resolve(), *argv, *own]
        if not subprocess.run([*map(str, process)]).returncode:
            done.append(task)
    if done:
        scores = [{"row": args.init, **s} for s in read_glue_results(args.output)]
        write_score_table(scores, f"{args.output}/glue", paper_table("1"))
        print(Path(f"{args.output}/glue.md").read_text(encoding="utf-8"))
    if failed := [task for task in folders if task not in done]:
        raise ValueError(f"These tasks failed, see above: {', '.join(failed)}. Rerun to resume.")
    if not args.no_test:
        print(f"Wrote {zip_glue_submissions(args.output, done)}")


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    args = parse_args(argv)
    if args.task == "all":
        run_all(args, argv)
        return
    from _runs import is_chief, start_training  # slow: here
    from glue.grid import finetune_grid

    strategy = start_training(args)
    train, dev, tests = read_splits(args)
    label_names = train.label_names
    examples = joined(dev)
    known = score(dev, examples[1])
    if args.select not in known:
        raise ValueError(f"--select must be one of {', '.join(known)}; got {args.select}.")
    results = finetune_grid(
        lambda: make_model(args, label_names),
        (train.texts, train.labels),
        examples,
        args.output,
        grid=grid_of(args),
        scores=lambda answers, x, y: score(dev, predictions(answers, label_names)),
        shared={name: getattr(args, name) for name in [*MODEL, "precision", "teacher"]},
        strategy=strategy,
        **_shared.finetuning_arguments(args),
    )
    print(*results[0], sep="\t")
    for result in results:  # the best run first
        print(*(f"{value:.4g}" for value in result.values()), sep="\t")
    with strategy.scope():
        model = keras_bert.BertClassifier.from_preset(f"{args.output}/best")
    for part, folder in [(part, "dev") for part in dev] + [(part, "submission") for part in tests]:
        predicted = predictions(model.answer(part.texts), label_names)
        if is_chief(model):
            path = write_glue_submission(f"{args.output}/{folder}", part, predicted)
            print(f"Wrote {path}")
    print(f"The best model is the preset {args.output}/best; results.tsv there lists all runs.")


if __name__ == "__main__":
    _shared.run_recipe(main)
