"""A recipe's command line: its parser, and the errors that its user reads."""

import argparse
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def recipe_parser(docstring: str) -> argparse.ArgumentParser:
    """Makes the parser of a recipe's command line.

    `--help` begins with the first paragraph of the recipe's docstring and shows the default of
    each argument that has one.

    Args:
        docstring: the docstring of the recipe.

    Example:
    >>> from keras_bert import recipe_parser
    >>> parser = recipe_parser("Trains a tiny BERT.")
    >>> parser.description
    'Trains a tiny BERT.'
    """
    return argparse.ArgumentParser(description=docstring.split("\n\n")[0], formatter_class=_Help)


def run_recipe(main: Callable[[], object]) -> None:
    """Runs the `main` function of a recipe, with short errors and without TensorFlow's own log.

    A ValueError of the recipe or of this package, and an OSError, exit with status 1 and print
    their message alone: they are about the user's files and arguments. Other errors keep their
    traceback. The environment variable `TF_CPP_MIN_LOG_LEVEL=0` brings TensorFlow's log back.

    Args:
        main: a function without arguments.

    Example:
    >>> from keras_bert import run_recipe
    >>> run_recipe(lambda: print("done"))
    done
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        main()
    except (ValueError, OSError) as error:
        if isinstance(error, OSError) or _is_own(error, main):
            sys.exit(f"error: {error}")
        raise


def _is_own(error, main):
    """Returns whether an error was raised by the package or the recipe, not by a library."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    path = Path(frame.f_code.co_filename).resolve()
    return path.is_relative_to(_PACKAGE) or frame.f_globals is getattr(main, "__globals__", None)


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
