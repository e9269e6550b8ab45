"""Editors and type checkers see the public names, although these load on first use."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import keras_bert

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "keras_bert"


def test_the_stub_exports_every_name_that_it_imports():
    # Type checkers take a name imported without `as` as private to the stub.
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(stub) if isinstance(node, ast.Import | ast.ImportFrom)]
    aliases = [alias for node in imports for alias in node.names]
    assert [alias.asname for alias in aliases] == [alias.name for alias in aliases]
    assert sorted(alias.name for alias in aliases) == keras_bert.__all__


def test_the_stub_and_the_typing_marker_are_shipped():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = project["tool"]["setuptools"]["package-data"]["keras_bert"]
    assert {"__init__.pyi", "py.typed"} <= set(shipped)
    assert all((PACKAGE / name).is_file() for name in shipped)


def test_a_type_checker_resolves_classes_and_methods_and_rejects_misspelled_names():
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_editor_completes_public_names_and_goes_to_their_definitions():
    jedi = pytest.importorskip("jedi")
    # InterpreterEnvironment starts no process.
    options = {"project": jedi.Project(ROOT), "environment": jedi.InterpreterEnvironment()}
    completions = jedi.Script("import keras_bert\nkeras_bert.", **options).complete()
    assert set(keras_bert.__all__) <= {completion.name for completion in completions}
    script = jedi.Script("import keras_bert\nkeras_bert.BertClassifier(", **options)
    (definition,) = script.goto(line=2, column=len("keras_bert.Bert"))
    assert definition.type == "class"
    assert definition.module_path == PACKAGE / "models" / "bert_classifier.py"
    (signature,) = script.get_signatures()
    assert [parameter.name for parameter in signature.params][:2] == ["backbone", "num_classes"]
