import importlib
import sys
from unittest.mock import Mock

import pytest

MODULE = "keras_bert.graph.tensorflow_text"
UNDEFINED = """
import tensorflow as tf
raise tf.errors.NotFoundError(None, None, "_tflite_registrar.so: undefined symbol: icudt77_dat")
"""


@pytest.mark.parametrize("state", ["it isn't installed", "version 2.21.0 is installed"])
def test_an_import_that_fails_says_what_to_install(tensorflow, monkeypatch, tmp_path, state):
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.delitem(sys.modules, "tensorflow_text", raising=False)
    broken = state.startswith("version")
    version = Mock(return_value="2.21.0")
    if broken:
        (tmp_path / "tensorflow_text.py").write_text(UNDEFINED)
        monkeypatch.syspath_prepend(tmp_path)
    else:
        monkeypatch.setitem(sys.modules, "tensorflow_text", None)
        version.side_effect = importlib.metadata.PackageNotFoundError
    monkeypatch.setattr(importlib.metadata, "version", version)
    installed = ".".join(tensorflow.__version__.split(".")[:2])
    message = rf"{state}.*pip install .*text=={installed}\.\*"
    with pytest.raises(ImportError, match=message) as caught:
        importlib.import_module(MODULE)
    assert not broken or "undefined symbol" in str(caught.value.__cause__)
