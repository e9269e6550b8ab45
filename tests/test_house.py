"""The house stands: rooms import downwards only, public names are there and documented."""

import ast
import doctest
import graphlib
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import keras_bert

ROOT = Path(__file__).resolve().parents[1]
ROOMS = [  # from the ground up
    "files messages reports saved sizes",
    "layers losses text metrics",
    "graph corpus readers training",
    "callbacks preprocessing",
    "presets scoring",
    "serving",
    "models",
    "pictures finetuning estimators",
    "recipes",
]
FLOORS = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms.split()}
# `BertTokenizer.from_preset` and `BertPreprocessor.from_preset` know where presets are read.
FROM_PRESET = dict.fromkeys(("text", "preprocessing"), {"keras_bert.presets.preprocessors"})
NAMESPACES = "callbacks estimators layers losses metrics pictures readers sizes".split()
PUBLIC = [
    (package, name)
    for package in ("keras_bert", *(f"keras_bert.{name}" for name in NAMESPACES))
    for name in getattr(importlib.import_module(package), "__all__", ())
    if name not in NAMESPACES
]
SOURCES = sorted((ROOT / "keras_bert").rglob("*.py")) + sorted((ROOT / "recipes").rglob("*.py"))
KERAS_ALONE = [
    path
    for path in SOURCES
    if path.relative_to(ROOT).parts[1] in ("layers", "models", "training", "presets")
    and path.name != "tensorflow_loop.py"
]


def homes(package):
    """The names that a package's `__init__.pyi` imports, each with its module."""
    stub = (ROOT / package.replace(".", "/") / "__init__.pyi").read_text(encoding="utf-8")
    nodes = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: f"{package}.{node.module}" if node.module else package
        for node in nodes
        for alias in node.names
    }


def imports(path, top_level_only=False):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def room(module):
    """The room of `keras_bert.<room>...`, or None."""
    parts = module.split(".")
    return parts[1] if parts[0] == "keras_bert" and len(parts) > 1 else None


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_from_rooms_below(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    own = parts[0] if parts[0] == "recipes" else parts[1]
    for module in imports(path):
        other = room(module)
        if own == "recipes":
            is_shared = len(parts) > 2 or parts[-1].startswith("_")  # of recipes: no script to copy
            assert is_shared or other in (None, *NAMESPACES), (
                f"{path.name} imports {module}: not a public name"
            )
        elif (
            other not in (None, own)
            and own != "__init__"
            and module not in FROM_PRESET.get(own, ())
        ):
            assert FLOORS[other] < FLOORS[own], f"{path.name} of {own} imports {module}"


def test_no_file_depends_on_itself():
    of_root = homes("keras_bert")
    paths = (ROOT / "keras_bert").rglob("*.py")
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    needs = {}
    for module, path in files.items():
        needs[module] = {*imports(path)} & files.keys()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):  # of a page of a room
                needs[module] |= {f"{node.module}.{a.name}" for a in node.names} & files.keys()
            elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "keras_bert":
                needs[module] |= {of_root.get(node.attr)} & files.keys()
    graphlib.TopologicalSorter(needs).prepare()  # a CycleError names the files


def test_no_module_hides_a_public_name_of_its_package():
    for listed in (ROOT / "keras_bert").rglob("__init__.pyi"):
        package = ".".join(listed.parent.relative_to(ROOT).parts)
        modules = {path.stem for path in listed.parent.glob("*.py")}
        names = {name for name, home in homes(package).items() if home != package}
        assert not names & modules, f"import {package}.{min(names & modules)} replaces the name"


@pytest.mark.parametrize("path", KERAS_ALONE, ids=lambda path: str(path.relative_to(ROOT)))
def test_models_and_layers_need_keras_alone(path):
    modules = list(imports(path, top_level_only=True))
    assert not [m for m in modules if m.split(".")[0] in ("tensorflow", "tensorflow_text")]


def test_the_map_leads_to_files_that_exist():
    page = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\| [a-z].*\|$", page, flags=re.MULTILINE)[1:]:
        _, read, check, green = [re.findall(r"`(.*?)`", cell) for cell in row.split("|")[1:-1]]
        paths = [ROOT / "keras_bert" / path for path in read]
        paths += [ROOT / "tests" / path for path in f"{check[0]} {green[0]}".split()]
        assert len(read) == 2 and all(path.exists() for path in paths), row


def test_what_other_libraries_yield_is_told_apart_on_one_page():
    """No other file of preprocessing/ names a class or a module of another library."""
    others = {"torch", "grain", "pandas", "polars", "pyarrow", "datasets", "DatasetDict"}
    found = set()
    for path in (ROOT / "keras_bert" / "preprocessing").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if getattr(node, "value", None) in others or getattr(node, "attr", "") == "PyDataset":
                found.add(path.stem)
    assert found <= {"translators", "forms", "batches"}  # forms: Keras's; batches: a class of it


def test_the_guide_to_the_house_lists_the_rooms_and_their_floors():
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d) \| `(?:keras_bert/)?(\w+)(?:/|\.py)` \|", text, re.MULTILINE)
    assert len(listed) == len(FLOORS)
    assert {room: int(floor) for floor, room in listed} == FLOORS
    assert [floor for floor, _ in listed] == sorted((floor for floor, _ in listed), reverse=True)
    folders = {path.parent.name for path in (ROOT / "keras_bert").glob("*/__init__.py")}
    files = {path.stem for path in (ROOT / "keras_bert").glob("[a-z]*.py")}
    assert folders | files | {"recipes"} == FLOORS.keys()


def test_all_is_exact_and_short():
    assert len({*keras_bert.__all__} - {*NAMESPACES}) <= 36
    for package, name in PUBLIC:
        module = importlib.import_module(package)
        assert module.__all__ == sorted({*module.__all__})
        assert getattr(module, name) is not None and name in dir(module)
    with pytest.raises(AttributeError, match="attribute Bert$"):
        keras_bert.Bert  # noqa: B018


WITHOUT_TENSORFLOW = """
import sys

class Finder:  # as if TensorFlow weren't installed
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, *others):
        return None if name == "tensorflow" else self.finder.find_spec(name, *others)

sys.meta_path = [*map(Finder, sys.meta_path)]
import keras_bert
try:
    keras_bert.BertBackbone
except ImportError as error:
    print(error)
"""


def test_a_backend_that_is_not_installed_is_told_with_one_that_is(run_python):
    installed = next((name for name in ("jax", "torch") if importlib.util.find_spec(name)), None)
    said = run_python("-c", WITHOUT_TENSORFLOW, KERAS_BACKEND="tensorflow")
    assert 'pip install "keras3-bert[tensorflow]"' in said
    assert installed is None or f"KERAS_BACKEND={installed}" in said


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_public_names_are_documented_with_an_example(package, name):
    text = inspect.getdoc(getattr(importlib.import_module(package), name))
    assert text and "Example:" in text


def modules_with_doctests():
    for info in pkgutil.walk_packages(keras_bert.__path__, "keras_bert."):
        path = ROOT / (info.name.replace(".", "/") + ".py")
        if path.is_file() and ">>> " in path.read_text(encoding="utf-8"):
            yield info.name


@pytest.mark.slow
@pytest.mark.parametrize("name", list(modules_with_doctests()))
def test_examples_run(name):
    module = importlib.import_module(name)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testmod(module, optionflags=flags)
    assert tried > 0 and failed == 0


def test_scripts_and_guides_use_names_that_exist():
    """Weekly tests run some of them; a name that went shows here at once."""
    paths = [*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "recipes").rglob("*.py")]
    wrong = []
    for path in [*paths, *(ROOT / "docs").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [ast.unparse(node)] if isinstance(node, ast.Attribute) else []
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("keras_bert"):
                try:
                    importlib.import_module(node.module)
                except ModuleNotFoundError as error:
                    assert not error.name.startswith("keras_bert"), (path.name, node.module)
                    continue  # it needs JAX, say, which isn't installed here
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in filter(re.compile(r"keras_bert(\.\w+)+").fullmatch, names):
                try:
                    pkgutil.resolve_name(name)
                except (AttributeError, ImportError):
                    wrong.append((path.name, node.lineno, name))
    assert not wrong
