"""Lists the recipes: `python -m keras_bert.recipes`."""

import ast
from pathlib import Path

if __name__ == "__main__":
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        print(f"{path.stem:20} {text.splitlines()[0]}")
    print("\npython -m keras_bert.recipes.NAME --help explains one.")
