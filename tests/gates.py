"""What must be true of files, without Keras: floors, circles, public names, pages.

    python -m tests.gates

`make lint` runs it, after ruff. Each gate yields what is wrong, a line each.
"""

import ast
import functools
import graphlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "keras_bert"
FLOORS = {  # of rooms, from the table of the guide to the design
    room: int(floor)
    for floor, room in re.findall(
        r"^\| (\d) \| `(?:keras_bert/)?(\w+)(?:/|\.py)` \|",
        (ROOT / "docs" / "design.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}
# `BertTokenizer.from_preset` and `BertPreprocessor.from_preset` know where presets are read.
FROM_PRESET = dict.fromkeys(("text", "preprocessing"), {"keras_bert.presets.preprocessors"})
NAMESPACES = (
    "callbacks estimators kernels layers losses metrics pictures readers sizes testing".split()
)
README = ROOT / "README.md"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
]


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def package_of(stub):
    return ".".join(stub.parent.relative_to(ROOT).parts)


def homes(stub):
    """The names that an `__init__.pyi` imports, each with its module."""
    package = package_of(stub)
    nodes = [node for node in tree_of(stub).body if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: f"{package}.{node.module}" if node.module else package
        for node in nodes
        for alias in node.names
    }


def imports(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def room_of(module):
    """The room of `keras_bert.<room>...`, or None."""
    parts = module.split(".")
    return parts[1] if parts[0] == "keras_bert" and len(parts) > 1 else None


def rooms_import_only_from_rooms_below():
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for module in imports(ast.walk(tree_of(path))):
            other = room_of(module)
            is_known = other in (None, own) or module in FROM_PRESET.get(own, ())
            if not is_known and own != "__init__" and FLOORS[other] >= FLOORS[own]:
                yield f"{path}: {own} imports {module}"
    for path in (ROOT / "recipes").glob("[!_]*.py"):  # scripts to copy
        for module in imports(ast.walk(tree_of(path))):
            if room_of(module) not in (None, *NAMESPACES):
                yield f"{path}: {module} is no public name"


def no_file_depends_on_itself():
    of_root = homes(PACKAGE / "__init__.pyi")
    paths = PACKAGE.rglob("*.py")
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    needs = {}
    for module, path in files.items():
        nodes = list(ast.walk(tree_of(path)))
        needs[module] = {*imports(nodes)} & files.keys()
        for node in nodes:
            if isinstance(node, ast.ImportFrom):  # of a page of a room
                needs[module] |= {f"{node.module}.{a.name}" for a in node.names} & files.keys()
            elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "keras_bert":
                needs[module] |= {of_root.get(node.attr)} & files.keys()
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as error:
        yield f"a circle of imports: {' -> '.join(error.args[1])}"


def public_names_are_exported_and_not_hidden():
    for stub in PACKAGE.rglob("__init__.pyi"):
        modules = {path.stem for path in stub.parent.glob("*.py")}
        for name, home in homes(stub).items():
            if home != package_of(stub) and name in modules:
                yield f"{stub}: the module {name} replaces the name"
        for node in tree_of(stub).body:
            for alias in getattr(node, "names", ()):
                if alias.asname != alias.name:  # private to the stub, for type checkers
                    yield f"{stub}: write {alias.name} as {alias.name}"


def models_and_layers_need_keras_alone():
    for room in ("layers", "models", "training", "presets"):
        for path in (PACKAGE / room).rglob("*.py"):
            for module in imports(tree_of(path).body):
                is_tensorflow = module.split(".")[0] in ("tensorflow", "tensorflow_text")
                if is_tensorflow and path.name != "tensorflow_loop.py":
                    yield f"{path} imports {module} at its top"


def layers_name_no_backend():
    """What one backend or device computes otherwise is a kernel; arguments are in signatures."""
    names = {"backend", "ContextVar", "local", "__call__", "__delattr__"}
    for path in (PACKAGE / "layers").glob("*.py"):
        tree = tree_of(path)
        for module in {"tensorflow", "jax", "torch"}.intersection(imports(ast.walk(tree))):
            yield f"{path} imports {module}"
        for node in ast.walk(tree):
            name = getattr(node, "attr", getattr(node, "name", None))
            if name in names and path.stem != "packed_rows":  # inputs that a graph doesn't have
                yield f"{path}:{node.lineno} has {name}"


def other_libraries_are_named_on_one_page():
    """No other file of these rooms names a class or a module of another library."""
    others = {"torch", "grain", "pandas", "polars", "pyarrow", "datasets", "DatasetDict"}
    knowing = ("translators", "forms", "batches")  # the last two know Keras's PyDataset
    for path in [*(PACKAGE / "data").glob("*.py"), *(PACKAGE / "preprocessing").glob("*.py")]:
        if path.stem in knowing:
            continue
        for node in ast.walk(tree_of(path)):
            if getattr(node, "value", None) in others or getattr(node, "attr", "") == "PyDataset":
                yield f"{path}:{node.lineno} tells apart what another library yields"


def the_map_leads_to_files():
    for row in re.findall(r"^\| [a-z].*\|$", text_of(ROOT / "docs" / "map.md"), re.MULTILINE)[1:]:
        _, read, check, green = [re.findall(r"`(.*?)`", cell) for cell in row.split("|")[1:-1]]
        paths = [PACKAGE / path for path in read]
        paths += [ROOT / "tests" / path for path in f"{check[0]} {green[0]}".split()]
        if len(read) != 2 or not all(path.exists() for path in paths):
            yield f"docs/map.md: {row}"


def every_room_has_a_floor():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    files = {path.stem for path in PACKAGE.glob("[a-z]*.py")}
    for room in (folders | files | {"recipes"}) ^ FLOORS.keys():
        yield f"{room} of docs/design.md or of keras_bert has no room or no floor"


@functools.cache
def text_of(page):
    return page.read_text(encoding="utf-8")


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", text_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links_lead_somewhere():
    for page in PAGES:
        prose = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
        for link in re.findall(r"\]\((?!https?:)([^)]+)\)", prose):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                yield f"{page}: {link}"


def results_say_when_and_on_what_they_were_measured():
    for page in sorted((ROOT / "docs").glob("results_*.md")):
        for row, after in re.findall(r"^(\|.*)\n\n(.*\n?.*)", text_of(page), re.MULTILINE):
            if not re.match(r"Recorded \d{4}-\d\d-\d\d.*[0-9a-f]{8}.*:", after):
                yield f"{page}: what follows {row[:40]}"


def targets_and_tests_of_commands_exist():
    targets = {*re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)}
    named = {p: {*re.findall(r"(?:`|^)make ([a-z-]+)", text_of(p), re.MULTILINE)} for p in PAGES}
    if not {"quickstart", "test"} <= named[README]:
        yield "README names make quickstart and make test"
    for page in PAGES:
        for target in named[page] - targets:
            yield f"{page}: make {target}"
        for path in re.findall(r"\btests/[\w/]+\.py", text_of(page)):
            if not (ROOT / path).is_file():
                yield f"{page}: {path}"


GATES = [
    rooms_import_only_from_rooms_below,
    no_file_depends_on_itself,
    public_names_are_exported_and_not_hidden,
    models_and_layers_need_keras_alone,
    layers_name_no_backend,
    other_libraries_are_named_on_one_page,
    the_map_leads_to_files,
    every_room_has_a_floor,
    links_lead_somewhere,
    results_say_when_and_on_what_they_were_measured,
    targets_and_tests_of_commands_exist,
]

if __name__ == "__main__":
    wrong = [f"{gate.__name__}: {line}" for gate in GATES for line in gate()]
    sys.exit("\n".join(wrong) or 0)
