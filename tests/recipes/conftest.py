"""Recipes as modules, and small things for them to work on."""

import importlib

import keras
import pytest

import _tables
import keras_bert

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the a so it is was very good bad fine dull book film day "
WORDS = (WORDS + "and but not , .").split()
TEXT = "the book was very good and the day was fine. it is so. but the film was not dull. "


@pytest.fixture(autouse=True)
def float32():
    """Ends each test with the global dtype policy that it began with: recipes may set another."""
    yield
    keras.config.set_dtype_policy("float32")


@pytest.fixture(scope="session")
def recipe():
    """A function that imports a recipe by its name; `pythonpath` of pytest has their folder."""
    return importlib.import_module


@pytest.fixture(scope="module")
def module(request, recipe):
    """The recipe that a file of tests is named after."""
    return recipe(request.path.stem.removeprefix("test_"))


@pytest.fixture(scope="session")
def rows_of():
    """A function that reads the rows of a table, as dicts."""
    return lambda path: _tables.read_table(path).to_dict("records")


@pytest.fixture(scope="session")
def write_table():
    """A function that writes rows of cells to a file, and returns its path as text."""

    def write(path, *rows):
        path.parent.mkdir(parents=True, exist_ok=True)
        _tables.write_table(path, rows)
        return str(path)

    return write


@pytest.fixture
def arguments(request, preset, tmp_path):
    """A function that makes a command line of files, with SETTINGS of the module."""

    def make(files, *more):
        paths = [word for name, path in files.items() for word in (f"--{name}", path)]
        settings = getattr(request.module, "SETTINGS", "").split()
        return [
            "--init",
            str(preset),
            "--output",
            str(tmp_path / "out"),
            *paths,
            *settings,
            *more,
        ]

    return make


@pytest.fixture(scope="session")
def preset(tmp_path_factory):
    """A folder with a pre-trainer of one tiny layer that reads text."""
    keras.utils.set_random_seed(1)
    tokenizer = keras_bert.BertTokenizer(WORDS, lowercase=True)
    backbone = keras_bert.BertBackbone(len(WORDS), 1, 2, 16, 32, max_sequence_length=32)
    preprocessor = keras_bert.BertPreprocessor(tokenizer, sequence_length=16)
    folder = tmp_path_factory.mktemp("presets") / "pretrained"
    keras_bert.BertPretrainer(backbone, preprocessor=preprocessor).save_to_preset(folder)
    return folder


@pytest.fixture(scope="session")
def make_corpus(tmp_path_factory):
    """A function that prepares a small corpus with a tokenizer, and returns its folder."""

    def make(tokenizer):
        folder = tmp_path_factory.mktemp("pretrain")
        for index in range(4):
            sentences = TEXT.replace(". ", " .\n") * (5 + index)
            (folder / f"{index}.txt").write_text(sentences)
        paths = [str(path) for path in sorted(folder.iterdir())]
        settings = {"text_format": "sentences", "num_workers": 1, "progress": False}
        keras_bert.prepare_corpus(paths, str(folder / "corpus"), tokenizer, **settings)
        return folder / "corpus"

    return make


@pytest.fixture(scope="session")
def corpus(make_corpus, preset):
    return make_corpus(keras_bert.BertTokenizer.from_preset(preset))


@pytest.fixture(scope="session")
def other_corpus(make_corpus):
    """A corpus of a different vocabulary of the same size."""
    return make_corpus(keras_bert.BertTokenizer([*WORDS[:5], *WORDS[:4:-1]]))
