"""Editors and type checkers see the public names, although these load on first use."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import keras
import pytest

import keras_bert
from keras_bert.presets.loading_arguments import LoadingArguments
from keras_bert.presets.preset import PresetModel
from keras_bert.presets.preset_arguments import accepted_arguments, setting_names

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "keras_bert"
# Keras calls these with arguments of its own, and documents them in its base classes.
KERAS_OVERRIDES = re.compile(
    "build|call|compute_output_spec|from_config|get_config|on_.*|.*_step|make_.*_function"
)


def classes_of(trees):
    """Returns `{class: (names of its bases, its members with types)}` of modules."""
    classes = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
                typed = {m.name for m in methods if not missing_annotations(m, is_method=True)}
                typed |= {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
                bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
                classes[node.name] = (bases, typed)
    return classes


def inherits(classes, name, method):
    """Whether a base class states the types of a method, which type checkers take from there."""
    bases, _ = classes.get(name, ((), ()))
    return any(
        method in classes.get(base, ((), ()))[1] or inherits(classes, base, method)
        for base in bases
    )


def public_functions(nodes, classes, owner=""):
    """Yields `(qualified name, function, is a method)` of a module's or a class's body."""
    for node in nodes:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node.body, classes, node.name)
        elif isinstance(node, ast.FunctionDef):
            is_special = node.name in ("__init__", "__call__")
            is_override = owner and (
                KERAS_OVERRIDES.fullmatch(node.name) or inherits(classes, owner, node.name)
            )
            if not is_override and (is_special or not node.name.startswith("_")):
                yield f"{owner}.{node.name}", node, bool(owner)


def missing_annotations(function, is_method):
    """Names of the parameters without a type, and "return" if the function has no return type."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args]
    if is_method and parameters[0].arg in ("self", "cls"):
        parameters = parameters[1:]
    parameters += [*arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    names = [p.arg for p in parameters if p is not None and p.annotation is None]
    has_return = function.returns is not None or function.name == "__init__"
    return names if has_return else [*names, "return"]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("__init__.pyi")), ids=lambda p: p.parent.name)
def test_a_stub_exports_every_name_that_it_imports(path):
    # Type checkers take a name imported without `as` as private to the stub.
    stub = ast.parse(path.read_text(encoding="utf-8"))
    package = import_module(".".join(path.parent.relative_to(ROOT).parts))
    imports = [node for node in ast.walk(stub) if isinstance(node, ast.Import | ast.ImportFrom)]
    aliases = [alias for node in imports for alias in node.names]
    assert [alias.asname for alias in aliases] == [alias.name for alias in aliases]
    assert sorted(alias.name for alias in aliases) == package.__all__


def test_public_functions_outside_of_layers_and_models_are_annotated():
    # Layers and models have the signatures of Keras, which users know from there.
    missing = []
    total = 0
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    classes = classes_of(trees.values())
    for path, tree in trees.items():
        room = path.relative_to(PACKAGE).parts[0]
        # The functions of graph_ops are those of numpy_ops, for tensors.
        if room in ("layers", "models") or path.stem == "graph_ops":
            continue
        for name, function, is_method in public_functions(tree.body, classes):
            total += 1
            if found := missing_annotations(function, is_method):
                missing.append(f"{path.relative_to(ROOT)}: {name} lacks {', '.join(found)}")
    assert total > 300  # otherwise the search is broken
    assert not missing, "\n".join(missing)


def test_the_stub_and_the_typing_marker_are_shipped():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = project["tool"]["setuptools"]["package-data"]
    assert shipped["*"] == ["*.pyi"] and "py.typed" in shipped["keras_bert"]
    assert all((PACKAGE / name).is_file() for name in shipped["keras_bert"])


def test_a_type_checker_resolves_classes_and_methods_and_rejects_misspelled_names():
    pytest.importorskip("mypy", reason='pip install ".[dev]"')
    done = subprocess.run([sys.executable, "-m", "mypy"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stub_of_keras_models_has_their_public_names():
    # A name that it lacks would be an error in users' editors.
    stub = ast.parse((PACKAGE / "models" / "keras_model.pyi").read_text(encoding="utf-8"))
    (declared,) = [node.body for node in stub.body if isinstance(node, ast.ClassDef)]
    names = {node.target.id if isinstance(node, ast.AnnAssign) else node.name for node in declared}
    inputs = keras.Input([2])
    model = keras.Model(inputs, inputs)
    assert {name for name in dir(model) if not name.startswith("_")} <= names


def test_the_arguments_of_from_preset_are_those_of_the_classes():
    names = set()
    for name in keras_bert.__all__:
        cls = getattr(keras_bert, name)
        if isinstance(cls, type) and issubclass(cls, PresetModel):
            names |= {*accepted_arguments(cls), *setting_names(cls)}
    assert LoadingArguments.__annotations__.keys() == names
