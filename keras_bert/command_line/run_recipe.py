"""Running of a script's `main` with short errors."""

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def run_recipe(main: Callable[[], object]) -> None:
    """Runs the `main` function of a recipe, with short errors and without TensorFlow's own log.

    A ValueError of keras_bert or of the recipe's folder, and an OSError, exit with status 1 and
    print only their message: they are about the user's files and arguments. Other errors keep their
    traceback. The environment variable `TF_CPP_MIN_LOG_LEVEL=0` brings TensorFlow's log back.

    Example:
    ```python
    if __name__ == "__main__":
        run_recipe(main)
    ```
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        main()
    except OSError as error:
        sys.exit(f"error: {error}")
    except ValueError as error:
        if _is_own(error, main):
            sys.exit(f"error: {error}")
        raise


def _is_own(error, main):
    """Returns whether keras_bert or a file of the recipe raised an error, not a library."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    path = Path(frame.f_code.co_filename).resolve()
    recipes = Path(main.__code__.co_filename).resolve().parent
    is_of_recipe = path.is_relative_to(recipes) and "site-packages" not in path.parts
    return is_of_recipe or path.is_relative_to(_PACKAGE)
