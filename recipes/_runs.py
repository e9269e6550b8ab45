"""What recipes that train share. Keras is imported here: import this file in `main`."""

import argparse
import os

import keras

import keras_bert
from keras_bert.files.whole import whole_path
from keras_bert.finetuning.run_settings import write_settings
from keras_bert.finetuning.train_epochs import train_epochs
from keras_bert.preprocessing.forms import first_to_validate_on
from keras_bert.training.describe_training import check_batch, describe_training
from keras_bert.training.processes import is_chief, wait_for_all

__all__ = ["check_batch", "describe_training", "first_to_validate_on", "is_chief", "keep_model"]
__all__ += ["write_settings", "start_training", "train_epochs", "wait_for_all"]


def start_training(args: argparse.Namespace) -> object:
    """Sets the seed and the precision of a command line; returns the strategy of its devices."""
    strategy = keras_bert.get_strategy(args.strategy, args.tpu, args.devices)
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    return strategy


def keep_model(model: keras.Model, path: str | os.PathLike) -> None:
    """Saves a Keras model as a file, which replaces an earlier one at once."""
    with whole_path(path) as unfinished:
        model.save(unfinished)
