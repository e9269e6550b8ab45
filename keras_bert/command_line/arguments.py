"""Flags of recipes, and the arguments that they stand for.

A flag has the same meaning, default and help text in every recipe. Keras is not imported here, so
that `--help` is quick.
"""

import argparse
from typing import Any

import keras_bert


def recipe_parser(docstring: str) -> argparse.ArgumentParser:
    """Makes a parser whose `--help` has the docstring's first paragraph and all defaults.

    Example:
    >>> from keras_bert.command_line import recipe_parser
    >>> parser = recipe_parser("Counts words.")
    >>> action = parser.add_argument("--seed", type=int, default=0, help="random seed")
    >>> parser.parse_args([]).seed
    0
    """
    return argparse.ArgumentParser(description=docstring.split("\n\n")[0], formatter_class=_Help)


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds `--train`, `--dev` or else `--validation_split`, and `--test`.

    Example:
    ```python
    add_file_arguments(parser)
    ```
    """
    add = parser.add_argument
    add("--train", required=True, help="file of training examples")
    dev = parser.add_mutually_exclusive_group(required=True)
    dev.add_argument("--dev", help="file of examples that select the best epoch")
    split = "replaces --dev by this fraction of --train, its last examples, e.g. 0.1"
    dev.add_argument("--validation_split", type=_fraction, help=split)
    add("--test", help="file of examples to answer at the end")


def add_finetuning_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the model to start from, the output folder, the devices, and `finetune`'s settings.

    A recipe changes defaults with `parser.set_defaults`.

    Example:
    ```python
    add_finetuning_arguments(parser)
    parser.set_defaults(learning_rate=2e-5)
    ```
    """
    add = parser.add_argument
    add("--init", required=True, help="preset or published weights to start from")
    add("--from_scratch", action="store_true", help="start from random weights of the same shape")
    add("--keep_layers", type=int, nargs="+", help="take only these encoder layers, e.g. 0 2 4")
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
    add("--teacher", help="preset of a trained model of this task, whose answers are learned too")
    add("--temperature", type=float, default=2.0, help="of the teacher's probabilities")
    add("--alpha", type=float, default=0.5, help="weight of the teacher; the labels have the rest")
    add_device_arguments(parser)


def add_device_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what `start_training` takes: the devices, the precision and the seed.

    Example:
    ```python
    add_device_arguments(parser)
    ```
    """
    add = parser.add_argument
    add("--strategy", default="auto", help="auto, single, mirrored, multiworker or tpu")
    add("--tpu", help="address of a TPU: local, its name, or grpc://host:port")
    add("--devices", type=int, help="number of GPUs or JAX devices; all by default")
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"], help="Keras dtype")
    add("--seed", type=int, default=0, help="random seed")


def start_training(args: argparse.Namespace) -> Any:
    """Sets the seed and the precision of a command line; returns the strategy of its devices.

    Example:
    ```python
    strategy = start_training(parser.parse_args())
    with strategy.scope():
        model = keras_bert.BertClassifier.from_preset("bert", num_classes=2)
    ```
    """
    import keras

    strategy = keras_bert.get_strategy(args.strategy, args.tpu, args.devices)
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    return strategy


def loading_arguments(args: argparse.Namespace) -> dict[str, Any]:
    """Converts a command line with `add_finetuning_arguments` to arguments of `from_preset`.

    Example:
    ```python
    model = keras_bert.BertClassifier.from_preset(args.init, **loading_arguments(args))
    ```
    """
    return {
        "load_weights": not args.from_scratch,
        "keep_layers": args.keep_layers,
        "sequence_length": args.sequence_length,
    }


def finetuning_arguments(args: argparse.Namespace, **settings: Any) -> dict[str, Any]:
    """Converts a command line with `add_finetuning_arguments` to arguments of `finetune`.

    Other `settings` are fields of `FineTuning`.

    Example:
    ```python
    arguments = finetuning_arguments(args, class_weight="balanced")
    keras_bert.finetune(model, train, dev, args.output, **arguments)
    ```
    """
    from keras_bert.finetuning import FineTuning, Teacher

    names = ("epochs", "learning_rate", "layer_decay", "accumulation_steps", "select", "patience")
    for name in (*names, "seed"):
        settings[name] = getattr(args, name)
    batching = keras_bert.Batching(
        args.batch_size,
        bucket_lengths=args.bucket_lengths,
        tokens_per_batch=args.tokens_per_batch,
        packed=args.packed,
    )
    teacher = None
    if args.teacher is not None:
        teacher = Teacher(args.teacher, args.temperature, args.alpha)
    settings = FineTuning(warmup=args.warmup_proportion, **settings)
    return {"settings": settings, "batching": batching, "teacher": teacher}


def _fraction(text):
    fraction = float(text)
    if not 0 < fraction < 1:
        raise argparse.ArgumentTypeError(f"must be above 0 and below 1; got {text}")
    return fraction


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Help texts with their defaults, except for switches and arguments without a default.

    A text that explains a default of None ends in "; by default, ...". The end is left out where
    a recipe sets another default.
    """

    def _get_help_string(self, action):
        default = action.default
        if default is None or default is False or default in ([], argparse.SUPPRESS):
            return action.help
        return f"{action.help.partition('; by default')[0]} (default: %(default)s)"
