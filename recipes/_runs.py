"""What recipes that train share. Keras is imported here: import this file in `main`."""

import argparse
import os

import keras

import keras_bert
from keras_bert.data.data import first_to_validate_on
from keras_bert.files.whole import whole_path
from keras_bert.finetuning.run_settings import write_settings
from keras_bert.finetuning.train_epochs import shown_scores, train_epochs
from keras_bert.training.describe_training import describe_training
from keras_bert.training.divergence import optimizer_step
from keras_bert.training.processes import is_chief
from keras_bert.training.strategy import device_kind

__all__ = [
    "describe_training",
    "first_to_validate_on",
    "heldout_batches",
    "heldout_scores",
    "is_chief",
    "keep_model",
    "optimizer_step",
    "shown_scores",
    "start_training",
    "steps_per_execution",
    "tensorboard",
    "train_epochs",
    "write_settings",
]


def start_training(args: argparse.Namespace) -> object:
    """Sets the seed and the precision of a command line; returns the strategy of its devices.

    The precision is bfloat16 on TPUs, unless the command says otherwise.
    """
    strategy = keras_bert.get_strategy(args.strategy, args.tpu, args.devices)
    if args.precision is None:
        args.precision = "mixed_bfloat16" if _is_of_tpus(strategy) else "float32"
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    return strategy


def steps_per_execution(args: argparse.Namespace, strategy: object, *intervals: int) -> int:
    """Returns the steps of an execution, which divide the intervals: up to 20 on TPUs, else 1.

    The command line may say another number. On TensorFlow, Keras reads the loss after each
    execution, and the device waits.
    """
    if args.steps_per_execution is not None:
        return args.steps_per_execution
    if not _is_of_tpus(strategy):
        return 1
    steps = max(n for n in range(1, 21) if not any(interval % n for interval in intervals))
    print(
        f"On a TPU: {args.precision}, {steps} steps per execution. --precision and "
        "--steps_per_execution set others."
    )
    return steps


def _is_of_tpus(strategy):
    if keras.backend.backend() != "tensorflow":
        return device_kind() == "TPU"
    import tensorflow as tf

    return isinstance(strategy, tf.distribute.TPUStrategy)


def tensorboard(output: str) -> keras.callbacks.TensorBoard:
    """Returns a callback that writes the curves of epochs."""
    board = keras.callbacks.TensorBoard(f"{output}/logs", write_graph=False)
    board.async_safe = True  # it writes nothing after a step, for which a device would wait
    return board


def keep_model(model: keras.Model, path: str | os.PathLike) -> None:
    """Saves a Keras model as a file, which replaces an earlier one at once."""
    with whole_path(path) as unfinished:
        model.save(unfinished)


def heldout_batches(args: argparse.Namespace, corpus: object, data: dict) -> object:
    """Makes the batches of `--heldout` text, or None; `data` are the arguments for training."""
    if not args.heldout:
        return None
    size = max(1, args.batch_size // args.accumulation_steps)
    options = data | {"batch_size": size, "multiple_of": args.steps_per_execution}
    batches = keras_bert.heldout_dataset(args.heldout, corpus, **options)
    print(f"Held out: {len(batches):,} batches of {args.heldout}.")
    return batches


def heldout_scores(model: keras.Model, batches: object) -> dict:
    """Returns the scores of the trained model for its card: a resumed run may have no step left."""
    if batches is None:
        return {}
    logs = model.evaluate(batches, verbose=0, return_dict=True)
    keras_bert.callbacks.Perplexity().on_epoch_end(0, logs)
    perplexity = logs["masked_lm_perplexity"]
    print(f"Held out: perplexity {perplexity:,.1f}.")
    return {"held-out text": {"perplexity": perplexity}}
