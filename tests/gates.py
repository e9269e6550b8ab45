"""What must be true of files, without Keras: floors and pages.

    python -m tests.gates

`make lint` runs it, after ruff. Each gate yields what is wrong, a line each.
"""

import ast
import functools
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
NAMESPACES = "callbacks estimators layers losses metrics pictures readers sizes testing".split()
README = ROOT / "README.md"
PAGES = [
    README,
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "guides").glob("*.py")),
]


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
        for module in imports(path):
            other = room_of(module)
            is_known = other in (None, own) or module in FROM_PRESET.get(own, ())
            if not is_known and own != "__init__" and FLOORS[other] >= FLOORS[own]:
                yield f"{path}: {own} imports {module}"
    for path in (ROOT / "recipes").glob("[!_]*.py"):  # scripts to copy
        for module in imports(path):
            if room_of(module) not in (None, *NAMESPACES):
                yield f"{path}: {module} is no public name"


def the_map_leads_to_files():
    for row in re.findall(r"^\| [a-z].*\|$", text_of(ROOT / "docs" / "map.md"), re.MULTILINE)[1:]:
        _, read, check, green = [re.findall(r"`(.*?)`", cell) for cell in row.split("|")[1:-1]]
        paths = [PACKAGE / path for path in read]
        paths += [ROOT / "tests" / path for path in f"{check[0]} {green[0]}".split()]
        if len(read) != 2 or not all(path.exists() for path in paths):
            yield f"docs/map.md: {row}"


@functools.cache
def text_of(page):
    """A page as Markdown, also a guide, which is a Python script in percent format."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".py":
        return text
    before, *cells = re.split(r"^# %%(.*)\n", text, flags=re.MULTILINE)
    assert not before, "a guide begins with a cell"
    parts = []
    for kind, cell in zip(cells[::2], cells[1::2], strict=True):
        if kind.strip() == "[markdown]":
            parts += [re.sub(r"^# ?", "", line) for line in cell.strip().splitlines()]
        else:
            parts += ["```python", cell.strip(), "```"]
        parts.append("")
    return "\n".join(parts)


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


def targets_and_tests_of_commands_exist():
    targets = {*re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)}
    named = {p: {*re.findall(r"(?:`|^)make ([a-z-]+)", text_of(p), re.MULTILINE)} for p in PAGES}
    for page in PAGES:
        for target in named[page] - targets:
            yield f"{page}: make {target}"
        for path in re.findall(r"\btests/[\w/]+\.py", text_of(page)):
            if not (ROOT / path).is_file():
                yield f"{page}: {path}"


GATES = [
    rooms_import_only_from_rooms_below,
    the_map_leads_to_files,
    links_lead_somewhere,
    targets_and_tests_of_commands_exist,
]

if __name__ == "__main__":
    wrong = [f"{gate.__name__}: {line}" for gate in GATES for line in gate()]
    sys.exit("\n".join(wrong) or 0)
