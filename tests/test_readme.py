"""The README does what it says: its Python runs, its commands parse, its toy run works."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from pydoc_data.topics import topics

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands():
    """The README's shell commands, continued lines joined, comments left out."""
    text = "\n".join(blocks("bash")).replace("\\\n", " ")
    lines = (shlex.split(line, comments=True) for line in text.splitlines())
    return [line for line in lines if line]


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    """A folder to be in, with prose in books/, and reviews, tagged sentences and questions."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "books").mkdir()
    for name in ("compound", "debugger", "strings", "types", "import", "execmodel"):
        (folder / "books" / f"{name}.txt").write_text(topics[name], encoding="utf-8")
    for name in ("train", "dev"):
        rows = [f"the {'good' if i % 2 else 'bad'} book\t{i % 2}" for i in range(16)]
        (folder / f"{name}.tsv").write_text("\n".join(["text\tlabel", *rows, ""]))
        answers = [{"text": "book", "answer_start": 4}]
        asked = [{"id": str(i), "question": "what?", "answers": answers} for i in range(8)]
        paragraphs = [{"context": "the book", "qas": asked}]
        squad = {"version": "1.1", "data": [{"title": "", "paragraphs": paragraphs}]}
        (folder / f"{name}.json").write_text(json.dumps(squad))
        (folder / f"{name}.conll").write_text("the O\nbook B-THING\n\n" * 16)
    choices = [f"a\tthe book\tis good\tis bad\tis\tbook\t{i % 4}" for i in range(16)]
    (folder / "choices.tsv").write_text("\n".join([*choices, ""]))
    pets = [f"Tim,It is good,{i},{2 * i},{'slow' if i % 2 else 'fast'}" for i in range(16)]
    (folder / "pets.csv").write_text("\n".join(["Name,Description,Age,Fee,Speed", *pets, ""]))
    (folder / "glue_data" / "MRPC").mkdir(parents=True)
    for split in ("train", "dev", "test"):
        rows = [f"{i % 2}\t{i}\t{i}\tthe book\tthe {'good' if i % 2 else 'bad'}" for i in range(16)]
        rows = ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", *rows, ""]
        (folder / "glue_data" / "MRPC" / f"{split}.tsv").write_text("\n".join(rows))
    return folder


def test_python_blocks_run_in_order(books, monkeypatch):
    monkeypatch.chdir(books)
    names = {}
    assert len(blocks("python")) >= 5
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    assert names["logits"].shape == (1, 2)
    assert names["answer"]["probabilities"].shape == (1, 2)
    assert names["answer"]["label"].numpy()[0] in (b"bad", b"good")


def test_commands_name_recipes_and_options_that_exist():
    found = [line for line in commands() if line[0] == "python"]
    assert len(found) >= 6
    for _, script, *arguments in found:
        spec = importlib.util.spec_from_file_location("recipe", ROOT / script)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.parse_args(arguments)  # exits where an option is not known


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"`?make ([a-z-]+)", README))
    assert {"quickstart", "test"} <= named
    for target in named:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


@pytest.mark.slow
def test_the_toy_run_of_the_recipes_works(books):
    for _, script, *arguments in (line for line in commands() if line[0] == "python"):
        if "--runner" in arguments:
            continue  # needs Apache Beam; tests/corpus has its tests
        if script.endswith("plan_tpu.py"):
            continue  # needs libtpu; tests/recipes has its test
        expanded = [
            str(path.relative_to(books))
            for argument in arguments
            for path in (sorted(books.glob(argument)) if "*" in argument else [books / argument])
        ]
        command = [sys.executable, str(ROOT / script), *expanded]
        done = subprocess.run(command, cwd=books, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
    assert (books / "served" / "reviews" / "1" / "saved_model.pb").is_file()


def test_links_lead_somewhere():
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", prose):
        assert (ROOT / link).exists(), link
