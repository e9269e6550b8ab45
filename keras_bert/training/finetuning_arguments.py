"""Command-line arguments that all fine-tuning recipes share."""

import argparse

# Recipes can't share a module of their own, so their common flags are defined here. Each flag has
# the same meaning, default and help text in all of them.


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the files of examples to a command line.

    These are `--train`, `--dev` or else `--validation_split`, and `--test`.

    Args:
        parser: the parser of the command line.

    Example:
    >>> import argparse
    >>> parser = argparse.ArgumentParser()
    >>> add_file_arguments(parser)
    >>> args = parser.parse_args(["--train", "train.tsv", "--validation_split", "0.1"])
    >>> args.train, args.dev, args.validation_split, args.test
    ('train.tsv', None, 0.1, None)
    """
    add = parser.add_argument
    add("--train", required=True, help="file of training examples")
    dev = parser.add_mutually_exclusive_group(required=True)
    dev.add_argument("--dev", help="file of examples that select the best epoch")
    dev.add_argument(
        "--validation_split",
        type=_fraction,
        help="replaces --dev by this fraction of --train, its last examples, e.g. 0.1",
    )
    add("--test", help="file of examples to answer at the end")


def add_finetuning_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of a fine-tuning run to a command line.

    The arguments set the model to start from, the output folder, the devices, and the settings of
    `finetune`; `finetuning_settings` converts these settings. A recipe adds its files with
    `add_file_arguments` and its own columns and labels, and changes defaults with
    `parser.set_defaults`.

    Args:
        parser: the parser of the command line.

    Example:
    >>> import argparse
    >>> parser = argparse.ArgumentParser()
    >>> add_finetuning_arguments(parser)
    >>> args = parser.parse_args(["--init", "bert", "--output", "run", "--epochs", "4"])
    >>> finetuning_settings(args)["epochs"]
    4
    """
    add = parser.add_argument
    add("--init", required=True, help="preset or published weights to start from")
    add("--from_scratch", action="store_true", help="start from random weights of the same shape")
    add("--output", required=True, help="output folder")
    add("--sequence_length", type=int, default=128, help="tokens per sequence")
    add("--batch_size", type=int, default=32, help="examples per step, over all devices")
    add("--bucket_lengths", type=int, nargs="+", help="group examples by these padded lengths")
    add("--tokens_per_batch", type=int, help="with --bucket_lengths, replaces --batch_size")
    add("--packed", action="store_true", help="fill rows of --batch_size with several sequences")
    add("--learning_rate", type=float, default=5e-5, help="peak learning rate")
    add("--epochs", type=int, default=3, help="passes over the training examples")
    add("--warmup_proportion", type=float, default=0.1, help="fraction of all steps for warm-up")
    add("--layer_decay", type=float, help="learning rate of a layer relative to the next, e.g. 0.9")
    add("--select", help="score that selects the best epoch; by default, the main one")
    add("--patience", type=int, help="stop after this many epochs without a better score")
    add("--accumulation_steps", type=int, default=1, help="split each batch into this many parts")
    add("--no_plots", action="store_true", help="don't draw OUTPUT/curves.png and other pictures")
    add("--strategy", default="auto", help="auto, single, mirrored, multiworker or tpu")
    add("--tpu", help="address of a TPU: local, its name, or grpc://host:port")
    add("--devices", type=int, help="number of GPUs or JAX devices; all by default")
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"], help="Keras dtype")
    add("--seed", type=int, default=0, help="random seed")


def finetuning_settings(args: argparse.Namespace) -> dict:
    """Converts a command line with `add_finetuning_arguments` to arguments of `finetune`.

    Args:
        args: the parsed command line.

    Returns:
        A dict of `epochs`, `learning_rate`, `warmup`, `layer_decay`, `batching`,
        `accumulation_steps`, `select`, `patience`, `plots` and `seed`; with `add_file_arguments`,
        also `validation_split`.

    Raises:
        ValueError: if the batch sizes are invalid.

    Example: see `add_finetuning_arguments`.
    """
    import keras_bert  # imported late: `Batching` is in a higher-level package

    batching = keras_bert.Batching(
        args.batch_size,
        bucket_lengths=args.bucket_lengths,
        tokens_per_batch=args.tokens_per_batch,
        packed=args.packed,
    )
    names = ("epochs", "learning_rate", "layer_decay", "accumulation_steps", "select", "patience")
    settings = {name: getattr(args, name) for name in (*names, "seed")}
    settings["plots"] = not args.no_plots
    if hasattr(args, "validation_split"):
        settings["validation_split"] = args.validation_split or 0.0
    return {**settings, "warmup": args.warmup_proportion, "batching": batching}


def _fraction(text):
    try:
        fraction = float(text)
    except ValueError:
        fraction = 0.0
    if not 0 < fraction < 1:
        raise argparse.ArgumentTypeError(f"must be above 0 and below 1; got {text}")
    return fraction
