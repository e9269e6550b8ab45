"""BERT for Keras 3: vocabulary, pre-training, fine-tuning, evaluation and serving.

Shapes in this package are written with these letters:

    B batch      S sequence    P predictions (masked positions)
    H hidden     N heads       D head width (H / N)
    I intermediate             V vocabulary    C classes

`__init__.pyi` lists the public names for editors, type checkers and this module, which loads each
name on first use; the namespaces, such as `keras_bert.metrics`, do the same. Models therefore run
without TensorFlow (`KERAS_BACKEND=jax` or `torch`). If Keras is imported first, this module
registers all models, so that `keras.saving.load_model` finds them.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from lazy_loader import attach_stub

__version__ = "0.2.0"

if Path(__file__).with_name("bert.py").exists():  # keras-bert has that file, this package doesn't
    raise ImportError(
        "The packages keras-bert and keras3-bert are both installed, in one folder. Keep one: pip "
        "uninstall keras-bert keras3-bert, then pip install keras3-bert."
    )

_load, __dir__, __all__ = attach_stub(__name__, __file__)
# `from keras_bert import *` takes what can be imported.
_NEEDED = {"heldout_dataset": "tensorflow", "pretraining_dataset": "tensorflow"}
_NEEDED |= {"prepare_corpus": "sentencex"}
__all__ = [name for name in __all__ if name not in _NEEDED or find_spec(_NEEDED[name])]

# Keras creates the objects of a .keras file only from registered classes. Without Keras nothing is
# imported here, so that recipes print their help and corpora start their workers at once.
if "keras" in sys.modules:
    for _page in Path(__file__).with_name("models").glob("*bert_*.py"):
        import_module(f"keras_bert.models.{_page.stem}")


def __getattr__(name):
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if error.name != "tensorflow" or "keras" in sys.modules:
            raise
        backends = [backend for backend in ("jax", "torch") if find_spec(backend)]
        fix = f"set the environment variable KERAS_BACKEND={backends[0]}, or " if backends else ""
        raise ImportError(
            f"Keras's backend is TensorFlow here, which is not installed: {fix}pip install "
            '"keras3-bert[tensorflow]", or ".[tensorflow]" in a clone.'
        ) from None  # of Keras's twenty lines
