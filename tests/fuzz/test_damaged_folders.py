"""Damaged folders load, or raise a ValueError that names them."""

import faulthandler
import logging
import os
import shutil
import time
import traceback
import warnings

import pytest

pytest.importorskip("tensorflow_text", reason="the folders have tokenizers")

from tests.fuzz.folders import use, write_folders
from tests.fuzz.mutations import mutate

SEED = int(os.environ.get("FUZZ_SEED", "1"))
LIMIT = 20  # seconds that reading one folder may take


@pytest.fixture(scope="session")
def folders(tmp_path_factory, tensorflow):
    return write_folders(tmp_path_factory.mktemp("folders"))


def faults_of(folders, work, seeds, until=None, whole_every=1):
    """Damages and uses folders; returns `(cases, those that loaded, descriptions of faults)`.

    One in `whole_every` becomes a model; of the others, all files but the tensors are read.
    """
    faults, cases, loaded = [], 0, 0
    logging.getLogger("keras_bert").setLevel(logging.CRITICAL)
    for seed in seeds:
        if until and time.monotonic() > until:
            break
        source = folders[seed % len(folders)]
        folder = work / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        said = f"seed {seed}, {source.name}: {mutate(folder, seed)}"
        started = time.monotonic()
        faulthandler.dump_traceback_later(300, exit=False)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                use(folder, whole=seed % whole_every == 0)
            loaded += 1
        except ValueError as error:
            if str(folder) not in str(error):
                faults.append(f"{said}: names no file: {_end(error)}")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            faults.append(f"{said}: {_end(error)}")
        faulthandler.cancel_dump_traceback_later()
        cases += 1
        if time.monotonic() - started > LIMIT:
            faults.append(f"{said}: took {time.monotonic() - started:.0f} s")
    return cases, loaded, faults


def _end(error):
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = str(error).splitlines()[:1]
    return f"{type(error).__name__} {text} at {last.filename}:{last.lineno}"


def test_the_folders_load(folders):
    for folder in folders:
        use(folder)


def test_damaged_folders_raise_value_errors(folders, tmp_path):
    cases, _, faults = faults_of(folders, tmp_path, range(SEED, SEED + 60))
    assert cases == 60 and not faults, "\n".join(faults)


@pytest.mark.slow
def test_many_damaged_folders_raise_value_errors(folders, tmp_path):
    minutes, started = float(os.environ.get("FUZZ_MINUTES", "1")), time.monotonic()
    first = SEED + 10**6 * int(os.environ.get("FUZZ_PART", "0"))
    until = started + 60 * minutes
    cases, loaded, faults = faults_of(folders, tmp_path, range(first, first + 10**6), until, 4)
    print(
        f"{cases:,} damaged folders from seed {first} in {time.monotonic() - started:.0f} s: "
        f"{loaded:,} load, {len(faults)} faults"
    )
    assert not faults, "\n".join(faults)
