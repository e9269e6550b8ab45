"""The vocabularies and characters of the tests in `tests/text`."""

import runpy
from pathlib import Path

_TEXT = runpy.run_path(str(Path(__file__).parents[1] / "text" / "conftest.py"))
alphabet = _TEXT["alphabet"]
assigned_characters = _TEXT["assigned_characters"]
small = _TEXT["small"]
special_tokens = _TEXT["special_tokens"]
varied_characters = _TEXT["varied_characters"]
