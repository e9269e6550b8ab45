"""The command lines of recipes: flags, help texts and errors.

A flag has the same meaning, default and help text in every recipe. Keras is not imported here, so
that `--help` is quick.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import keras_bert
from keras_bert.sizes import SIZES

_OUR_FOLDERS = [Path(file).resolve().parent for file in (keras_bert.__file__, __file__)]


def recipe_parser(docstring: str) -> argparse.ArgumentParser:
    """Makes a parser whose `--help` has the docstring's first paragraph and all defaults."""
    return argparse.ArgumentParser(description=docstring.split("\n\n")[0], formatter_class=_Help)


def run_recipe(main: Callable[[], object]) -> None:
    """Runs the `main` function of a recipe, with short errors and without TensorFlow's own log.

    A ValueError or ImportError of the recipe or of keras_bert, and an OSError, exit with status 1
    and print only their message: they are about the user's files, arguments and packages. Other
    errors keep their traceback. Ctrl-C exits with status 130, as of a shell's command.
    The environment variable `TF_CPP_MIN_LOG_LEVEL=0` brings TensorFlow's log back.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        main()
    except (ValueError, ImportError, OSError) as error:
        if isinstance(error, OSError) or _is_our_error(error, main):
            sys.exit(f"error: {error}")
        raise
    except KeyboardInterrupt:
        print("Stopped. Rerun the same command to resume.", file=sys.stderr)
        sys.exit(130)


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds `--train`, `--dev` or else `--validation_split`, and `--test`."""
    add = parser.add_argument
    add("--train", required=True, help="file of training examples")
    dev = parser.add_mutually_exclusive_group(required=True)
    dev.add_argument("--dev", help="file of examples that select the best epoch")
    dev.add_argument(
        "--validation_split",
        type=float,
        help="use the last fraction of --train instead of --dev, e.g. 0.1",
    )
    add("--test", help="file of examples to answer at the end")


def add_tagging_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds how files of tagged words are read."""
    add = parser.add_argument
    add("--tag_column", type=int, default=-1, help="number of the column of tags; -1 is the last")
    add("--scheme", default="bio", choices=["bio", "bioes"], help="scheme to train on")
    add("--repair", action="store_true", help="read invalid tags as conlleval does")
    add("--document_context", action="store_true", help="add other sentences of the document")


def read_sentences(path: str, args: argparse.Namespace) -> object:
    """Reads tagged sentences, from a line with `add_tagging_arguments`."""
    sentences = keras_bert.readers.read_conll(
        path, scheme=args.scheme, tag_column=args.tag_column, repair=args.repair
    )
    print(sentences)
    return sentences


def words_of(sentences: object, args: argparse.Namespace) -> object:
    """Returns the words of sentences, with their documents if `--document_context` is set."""
    if args.document_context:
        return {"words": sentences.words, "documents": sentences.documents}
    return sentences.words


def read_dev_and_test(args: argparse.Namespace, read: Callable) -> tuple:
    """Reads `dev` and `test` as `finetune` takes them, from a line with `add_file_arguments`."""
    dev = read(args.dev) if args.dev else args.validation_split
    test = read(args.test) if args.test else None
    return dev, test


def add_finetuning_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the model to start from, the output folder, the devices, and `finetune`'s settings.

    A recipe changes defaults with `parser.set_defaults`.
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
    add("--learning_rate", type=float, default=5e-5, help="peak learning rate")
    add("--epochs", type=int, default=3, help="passes over the training examples")
    add("--warmup_proportion", type=float, default=0.1, help="fraction of all steps for warm-up")
    add("--layer_decay", type=float, help="learning rate of a layer relative to the next, e.g. 0.9")
    add("--select", help="score that selects the best epoch, if not the main one")
    add("--patience", type=int, help="stop after this many epochs without a better score")
    add("--accumulation_steps", type=int, default=1, help="split each batch into this many parts")
    add("--teacher", help="preset of a trained model of this task, whose answers are learned too")
    add("--temperature", type=float, default=2.0, help="softens the teacher's probabilities")
    add("--alpha", type=float, default=0.5, help="weight of the teacher; labels get 1 - alpha")
    add_device_arguments(parser)


def add_pretraining_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the corpus, the model, the output folder, and how steps are taken."""
    add = parser.add_argument
    add("--corpus", required=True, help="folder from prepare_corpus.py")
    add("--heldout", help="a second one, unseen in training, to evaluate at every checkpoint")
    add("--output", required=True, help="output folder")
    add("--size", default="base", choices=sorted(SIZES), help="published size of the model")
    add("--init", help="preset or published weights to start from")
    add("--batch_size", type=int, default=256, help="examples per step, over all devices")
    add("--masked_lm_rate", type=float, default=0.15, help="fraction of tokens to predict")
    add("--accumulation_steps", type=int, default=1, help="split each batch into this many parts")
    add("--remat", action="store_true", help="save memory by recomputing activations")
    add("--steps_per_execution", type=int, help="steps per graph; by default 1, on TPUs up to 20")
    add("--save_every", type=int, default=1000, help="steps of an epoch; a checkpoint ends it")
    add_device_arguments(parser)


def add_device_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what `start_training` takes: the devices, the precision and the seed."""
    add = parser.add_argument
    add("--strategy", default="auto", help="auto, single, mirrored, multiworker or tpu")
    add("--tpu", help="address of a TPU: local, its name, or grpc://host:port")
    add("--devices", type=int, help="number of GPUs or JAX devices; all by default")
    precisions = ["float32", "mixed_bfloat16"]
    add("--precision", choices=precisions, help="Keras dtype; by default float32, on TPUs bfloat16")
    add("--seed", type=int, default=0, help="random seed")


def loading_settings(args: argparse.Namespace) -> dict:
    """Converts a command line with `add_finetuning_arguments` to arguments of `from_preset`."""
    return {
        "load_weights": not args.from_scratch,
        "keep_layers": args.keep_layers,
        "sequence_length": args.sequence_length,
    }


def finetuning_arguments(args: argparse.Namespace, **settings: object) -> dict:
    """Converts a command line with `add_finetuning_arguments` to arguments of `finetune`.

    Other settings of a `FineTuning` may be added.
    """
    batching = keras_bert.Batching(
        batch_size=args.batch_size,
        bucket_lengths=args.bucket_lengths,
        tokens_per_batch=args.tokens_per_batch,
    )
    settings = keras_bert.FineTuning(
        epochs=args.epochs,
        learning_rate=args.learning_rate,
        warmup=args.warmup_proportion,
        layer_decay=args.layer_decay,
        accumulation_steps=args.accumulation_steps,
        select=args.select,
        patience=args.patience,
        temperature=args.temperature,
        alpha=args.alpha,
        seed=args.seed,
        **settings,
    )
    return {"settings": settings, "batching": batching, "teacher": args.teacher}


def _is_our_error(error, main):
    """Returns whether an error was raised by keras_bert or a recipe, not by a library."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    path = Path(frame.f_code.co_filename).resolve()
    is_main = frame.f_globals is getattr(main, "__globals__", None)
    return is_main or any(path.is_relative_to(folder) for folder in _OUR_FOLDERS)


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Help texts with their defaults, except for switches and arguments without a default."""

    def _get_help_string(self, action):
        if action.default in (None, []) or action.default is False:
            return action.help
        return super()._get_help_string(action)
