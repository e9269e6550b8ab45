"""Pages and guides do what they say: Python runs, commands parse."""

import functools
import importlib.util
import itertools
import re
import shlex
import shutil

import pytest

import keras_bert
import quickstart
from keras_bert.sizes import tiny
from tests.gates import PAGES, README, ROOT, text_of
from tests.marks import weekly

PUBLISHED = [  # replaced with a tiny model of the same format
    '"hf://google-bert/bert-base-uncased"',
    '"hf://sentence-transformers/all-MiniLM-L6-v2"',
]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), flags=re.DOTALL)


def commands(page):
    text = "\n".join(blocks(page, "bash")).replace("\\\n", " ")
    lines = (shlex.split(line, comments=True) for line in text.splitlines())
    return [line[1:] for line in lines if line and line[0] == "python"]


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    """A working directory with what README's command writes, in shorter tables."""
    folder = tmp_path_factory.mktemp("readme")
    quickstart.write_data(folder)
    for table in folder.glob("*.tsv"):
        table.write_text("".join(table.read_text("utf-8").splitlines(True)[:33]), "utf-8")
    return folder


@pytest.fixture(scope="module")
def published(books):
    """A folder of Hugging Face with a tiny BERT of random weights."""
    words = "[PAD] [UNK] [CLS] [SEP] [MASK] a fine dull book what".split()
    pretrainer = keras_bert.BertPretrainer(
        keras_bert.BertBackbone(len(words), **{**tiny, "num_layers": 1}),
        preprocessor=keras_bert.BertPreprocessor(keras_bert.BertTokenizer(words), 32),
    )
    pretrainer.save_to_hugging_face(books / "published")
    return str(books / "published")


OFTEN_READ = ("README", "start_here", "cheat_sheet", "classify", "serve", "pretrain")
RUN = [p if p.stem in OFTEN_READ else weekly(p) for p in PAGES]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_python_blocks_run_in_order(page, books, published, tmp_path, monkeypatch):
    found = blocks(page, "python")
    if not found:
        return
    folder = shutil.copytree(books, tmp_path / "books")  # pages write files of the same names
    monkeypatch.chdir(folder)
    monkeypatch.setitem(tiny, "num_layers", 1)  # time goes into tracing, which takes each layer
    names = {}
    for block in found:
        block = block.replace("keep_layers=(0, 2, 5)", "keep_layers=[0]")  # the only one here
        block = re.sub(r"steps_per_epoch=\d+", "steps_per_epoch=4", block)  # nothing reads the loss
        code = functools.reduce(lambda c, p: c.replace(p, repr(published)), PUBLISHED, block)
        exec(compile(code, page.name, "exec"), names)
    if page == README:
        answer = names["served"].signatures["serving_default"](text=["a book"])
        assert answer["label"].numpy()[0].decode() in quickstart.CHAPTERS


def test_commands_name_scripts_and_options_that_exist(monkeypatch):
    for script, *arguments in itertools.chain.from_iterable(map(commands, PAGES)):
        if script.startswith("-"):
            continue
        monkeypatch.syspath_prepend(str((ROOT / script).parent))
        spec = importlib.util.spec_from_file_location("script", ROOT / script)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.parse_args(arguments)  # exits if an option is unknown, and says which
