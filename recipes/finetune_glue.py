r"""Fine-tunes BERT on a task of GLUE, once or over the paper's grid, and answers its test set.

    python recipes/finetune_glue.py --init bert/preset --task mrpc --data glue_data/MRPC \
        --output mrpc --grid

The paper tries batches of 16 and 32, learning rates of 5e-5, 3e-5 and 2e-5, and 2, 3 and 4 epochs,
which are runs of their own, as the rate falls linearly to 0 over each; for BERT-large also several
random restarts (`--restarts 5`). What is best on the development set is kept. Without `--grid`
there is one run, or one for each combination of the values that are given. With BERT-base the
paper reports, on the test sets, MNLI 84.6/83.4, QQP 71.2, QNLI 90.5, SST-2 93.5, CoLA 52.1,
STS-B 85.8, MRPC 88.9 and RTE 66.4.

`OUTPUT/results.tsv` has a row for each run and epoch, `OUTPUT/best` the best epoch's model of the
best run, a preset; `OUTPUT/submission` its answers to the test set as GLUE's server takes them,
`OUTPUT/dev` those to the development set. Started again, it passes over runs that are finished
and goes on within the one that was cut; with other values it adds their runs. TensorFlow keeps
memory of each run until the process ends, about 2 GB for BERT-base: if it runs out, start again.
Watch it with `tensorboard --logdir OUTPUT/runs`.
"""

import argparse
import gc
import itertools
from pathlib import Path

import keras

import keras_bert

TASKS = ["cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli"]
ONE_RUN = {"batch_sizes": [32], "learning_rates": [2e-5], "epochs": [3]}
GRID = {"batch_sizes": [16, 32], "learning_rates": [5e-5, 3e-5, 2e-5], "epochs": [2, 3, 4]}
SHARED = ["task", "init", "from_scratch", "sequence_length", "warmup_proportion"]
SHARED += ["bucket_lengths", "layer_decay", "precision"]


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--init", required=True, help="preset or published weights to start from")
    add("--from_scratch", action="store_true", help="random weights in the preset's shape instead")
    add("--task", required=True, choices=TASKS)
    add("--data", help="the task's folder of TSV files, or data directory of tfds")
    add("--source", default="tsv", choices=["tsv", "tfds"], help="tfds: tensorflow-datasets")
    add("--diagnostic", help="folder of the diagnostic set AX, which a model of MNLI answers too")
    add("--no_test", action="store_true", help="leave the test set alone")
    add("--output", required=True, help="folder for runs, results, the best model and its answers")
    add("--grid", action="store_true", help="the paper's batch sizes, learning rates and epochs")
    add("--batch_sizes", type=int, nargs="+", help="32, or those of the grid, if not given")
    add("--learning_rates", type=float, nargs="+", help="2e-5, or those of the grid")
    add("--epochs", type=int, nargs="+", help="3, or those of the grid; each a run of its own")
    add("--seeds", type=int, nargs="+", help="of the head, dropout and order; 0 if not given")
    add("--restarts", type=int, help="so many seeds, from 0 on")
    add("--sequence_length", type=int, default=128)
    add("--warmup_proportion", type=float, default=0.1)
    add("--bucket_lengths", type=int, nargs="+", help="pad to these, batch like lengths")
    add("--layer_decay", type=float, help="rate of a layer beside the one above, such as 0.9")
    add("--accumulation_steps", type=int, default=1, help="parts of a batch, one after the other")
    keras_bert.add_device_arguments(parser)
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"])
    args = parser.parse_args(argv)
    if args.data is None and args.source == "tsv":
        parser.error("--data is needed: the folder of the task's TSV files")
    if args.seeds is not None and args.restarts is not None:
        parser.error("give --seeds or --restarts, not both")
    if args.diagnostic is not None and args.task != "mnli":
        parser.error(f"--diagnostic is answered by a model of mnli, not of {args.task}")
    if args.restarts is not None and args.restarts < 1:
        parser.error(f"--restarts must be at least 1; got {args.restarts}")
    args.seeds = args.seeds or list(range(args.restarts or 1))
    for name, values in (GRID if args.grid else ONE_RUN).items():
        setattr(args, name, getattr(args, name) or values)
        if min(getattr(args, name)) <= 0:
            parser.error(f"--{name} must be above 0; got {min(getattr(args, name))}")
    return args


def read_splits(args):
    """`(train, [dev], [test])`, each a `GlueExamples`; MNLI has two of dev and test."""
    halves = ["_matched", "_mismatched"] if args.task == "mnli" else [""]
    splits = ["train", *("dev" + half for half in halves)]
    if not args.no_test:
        splits += ["test" + half for half in halves]
    read = {s: keras_bert.read_glue(args.data, args.task, s, source=args.source) for s in splits}
    if args.diagnostic is not None:
        read["test_ax"] = keras_bert.read_glue(args.diagnostic, "ax", "test")
    for split, examples in read.items():
        reports = "".join(f"; {line}" for line in examples.reports.lines())
        print(f"{examples.task} {split}: {len(examples):,} examples{reports}")
    dev, test = ([read[s] for s in read if s.startswith(part)] for part in ("dev", "test"))
    return read["train"], dev, test


def make_model(args, examples):
    """The classifier, not yet compiled."""
    names = examples.label_names
    return keras_bert.BertClassifier.from_preset(
        args.init,
        load_weights=not args.from_scratch,
        sequence_length=args.sequence_length,
        num_classes=1 if names is None else len(names),
        label_names=names,
    )


def batches(model, examples, args, batch_size, seed):
    """Shuffled batches to learn from."""
    return keras_bert.text_dataset(
        examples.texts,
        examples.labels,
        preprocessor=model.preprocessor,
        batch_size=batch_size,
        shuffle=True,
        seed=seed,
        bucket_lengths=args.bucket_lengths,
        **keras_bert.batch_shapes(args.sequence_length),
    )


def predict(model, examples):
    """`[n]`: class numbers, or the numbers of a regression."""
    logits = model.predict(examples.texts, verbose=0)
    return logits[:, 0] if model.num_classes == 1 else logits.argmax(axis=1)


def score(dev, predictions):
    """The scores of a task; of MNLI, whose dev sets are two, `score` is the mean."""
    scores = [
        keras_bert.glue_scores(part.task, part.labels, predicted)
        for part, predicted in zip(dev, predictions, strict=True)
    ]
    if len(scores) == 1:
        return scores[0]
    matched, mismatched = (one["accuracy"] for one in scores)
    mean = (matched + mismatched) / 2
    return {"accuracy": matched, "mismatched_accuracy": mismatched, "score": mean}


def train(settings, folder, args, examples, dev, strategy):
    """One run, begun or gone on with: the scores of its epochs."""
    seed, size, epochs = settings["seed"], settings["batch_size"], settings["epochs"]
    gc.collect()  # the model of the run before
    keras.utils.set_random_seed(seed)
    with strategy.scope():
        model = make_model(args, examples)
        steps = epochs * len(batches(model, examples, args, size, seed=0))
        rate = keras_bert.WarmupLinearDecay(
            settings["learning_rate"], int(args.warmup_proportion * steps), steps, continuous=True
        )
        optimizer = keras_bert.AdamW(rate, layer_decay=args.layer_decay)
        model.compile(**{**model.default_compile_args(), "optimizer": optimizer})
    parts = args.accumulation_steps
    print(keras_bert.describe_training(strategy, size, model, parts) + ".")
    return keras_bert.finetune(
        model,
        folder,
        epochs=epochs,
        batches=lambda epoch: batches(model, examples, args, size, seed=1000 * seed + epoch),
        predict=lambda: [predict(model, part) for part in dev],
        score=lambda predictions: score(dev, predictions),
        select="score",
        accumulation_steps=parts,
    )


def print_results(results):
    """A line for each run's best epoch, the best run first."""
    print(*results[0], sep="\t")
    for result in results:
        print(*(f"{value:.4g}" for value in result.values()), sep="\t")


def main(argv=None):
    args = parse_args(argv)
    strategy = keras_bert.get_strategy(args.strategy, args.tpu, args.devices)
    keras.config.set_dtype_policy(args.precision)
    for size in args.batch_sizes:
        keras_bert.check_batch(strategy, size, args.accumulation_steps)
    output = Path(args.output)
    examples, dev, tests = read_splits(args)
    names = ["seed", "batch_size", "learning_rate", "epochs"]
    runs = itertools.product(args.seeds, args.batch_sizes, args.learning_rates, args.epochs)
    results = keras_bert.finetune_grid(
        output,
        [dict(zip(names, run, strict=True)) for run in runs],
        lambda settings, folder: train(settings, folder, args, examples, dev, strategy),
        select="score",
        shared={name: getattr(args, name) for name in SHARED},
        strategy=strategy,
    )
    print_results(results)
    with strategy.scope():
        model = keras_bert.BertClassifier.from_preset(output / "best")
    for part, folder in [(part, "dev") for part in dev] + [(part, "submission") for part in tests]:
        answers = predict(model, part)
        if keras_bert.is_chief(model):
            print("Written:", keras_bert.write_glue_submission(output / folder, part, answers))
    print(f"The best model is the preset {output / 'best'}; {output / 'results.tsv'} has all runs.")


if __name__ == "__main__":
    main()
