"""Fixtures that several rooms' tests share."""

import os
import socket
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def no_xla_for_the_host_of_a_tpu():
    """Sets Keras's own models to `jit_compile=False` where "auto" would choose what isn't there.

    tensorflow-tpu has XLA for TPUs alone (README, On many devices).
    """
    import keras

    if keras.backend.backend() == "tensorflow":
        import tensorflow

        if tensorflow.config.list_physical_devices("TPU_SYSTEM"):
            keras.Model._resolve_auto_jit_compile = lambda self: False


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real data that lies beside the project in CI, not in a clone of it."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real data not found at ../shared/data (looked in {SHARED_DATA})")
    return SHARED_DATA


@pytest.fixture(scope="session")
def tensorflow():
    """TensorFlow, for tests of what runs on that backend alone (`tests/test_backends.py`)."""
    import keras

    if keras.backend.backend() != "tensorflow":
        pytest.skip(f"needs the TensorFlow backend; this is {keras.backend.backend()}")
    import tensorflow

    return tensorflow


@pytest.fixture(scope="session")
def run_together():
    """What processes print that run Python with an environment each; all end without an error."""

    def run(folder, command, *environments):
        command = [sys.executable, *map(str, command)]
        outputs = [folder / f"said_{number}.txt" for number in range(len(environments))]
        processes = []
        for environment, path in zip(environments, outputs, strict=True):
            with open(path, "w") as file:  # no pipe: what isn't read at once would stop them
                processes.append(
                    subprocess.Popen(
                        command, stdout=file, stderr=file, env={**os.environ, **environment}
                    )
                )
        try:
            codes = [process.wait(timeout=600) for process in processes]
        except subprocess.TimeoutExpired as error:  # of one that waits for another, as a rule
            codes = [error]
        finally:
            for process in processes:
                process.kill()
        said = [path.read_text() for path in outputs]
        assert not any(codes), f"{codes}\n" + "\n".join(text[-3000:] for text in said)
        return said

    return run


@pytest.fixture(scope="session")
def free_addresses():
    """A function of a number that gives as many addresses of this machine that nobody uses."""

    def find(number):
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
        for each in sockets:
            each.close()
        return addresses

    return find
