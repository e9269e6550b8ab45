"""Progress in terminals, logs and notebooks."""

import subprocess
import sys

from keras_bert import learn_vocabulary
from keras_bert.corpus.workers import progress_bar


def test_a_log_has_an_update_a_second_and_no_blank_lines(tmp_path, capfd):
    (tmp_path / "text.txt").write_text("low lower lowest, low lower lowest\n" * 20)
    learn_vocabulary(tmp_path / "text.txt", 22, num_workers=1)
    out, err = capfd.readouterr()
    assert out == "140 words, 4 distinct, in 1 file\n"
    assert err.startswith("\rwords:   0%") and "100%" in err and err.count("\n") == 1
    with progress_bar("log", 10, True) as bar:
        assert bar.mininterval == 1
    with progress_bar("hidden", 10, False) as bar:
        bar.update(10)
    assert "hidden" not in capfd.readouterr().err


def test_a_notebook_without_widgets_has_bars_of_text_and_no_warning():
    script = """
import sys, warnings
from types import SimpleNamespace
sys.modules["ipykernel.zmqshell"] = None  # how tqdm knows a notebook
sys.modules["IPython"] = SimpleNamespace(get_ipython=object)
sys.modules["ipywidgets"] = None
warnings.simplefilter("always")
from keras_bert.corpus.workers import progress_bar
progress_bar("words", 10, True).close()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "words:   0%" in done.stderr and "IProgress" not in done.stderr, done.stderr
