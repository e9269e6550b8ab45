import importlib
import sys

import pytest

MODULE = "keras_bert.graph.tensorflow_text"
UNDEFINED = """
import tensorflow as tf
raise tf.errors.NotFoundError(None, None, "_tflite_registrar.so: undefined symbol: icudt77_dat")
"""


@pytest.mark.parametrize("reason", ["tensorflow_text", "undefined symbol"])
def test_an_import_that_fails_says_what_to_install(tensorflow, monkeypatch, tmp_path, reason):
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.delitem(sys.modules, "tensorflow_text", raising=False)
    if reason == "tensorflow_text":  # which isn't installed
        monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    else:
        (tmp_path / "tensorflow_text.py").write_text(UNDEFINED)
        monkeypatch.syspath_prepend(tmp_path)
    version = ".".join(tensorflow.__version__.split(".")[:2])
    message = rf"failed \(.*{reason}.*pip install .*text=={version}\.\*"
    with pytest.raises(ImportError, match=message):
        importlib.import_module(MODULE)
