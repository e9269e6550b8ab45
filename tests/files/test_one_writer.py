import os
import subprocess
import sys

import pytest

from keras_bert.files.one_writer import one_writer

WRITER = """
import sys
from keras_bert.files.one_writer import one_writer
with one_writer(sys.argv[1]):
    print("writes", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_ends(tmp_path):
    other = subprocess.Popen(
        [sys.executable, "-c", WRITER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert other.stdout.readline() == b"writes\n"
        with pytest.raises(ValueError, match=f"process of this machine, {other.pid}, writes to"):
            with one_writer(tmp_path):
                pass
        assert len(os.listdir(tmp_path)) == 1
    finally:
        other.kill()
        other.wait()
    with one_writer(tmp_path), one_writer(tmp_path):  # a killed one is forgotten
        assert len(os.listdir(tmp_path)) == 2
    assert os.listdir(tmp_path) == []


def test_remote_folders_are_not_marked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with one_writer("gs://bucket/run"):
        assert os.listdir(tmp_path) == []
