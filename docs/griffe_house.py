"""How mkdocstrings reads two sections of this package's docstrings."""

import re
import textwrap

import griffe


class House(griffe.Extension):
    """Shows `Returns:` as text, whatever colons it has, and `Example:` as code."""

    def on_object(self, *, obj, **kwargs):
        if obj.docstring:
            text, heading, example = obj.docstring.value.partition("\nExample:\n")
            text = re.sub(r"(?m)^(Returns|Yields):\n((?:(?: .*)?\n?)*)", _as_text, text)
            if heading:
                example = textwrap.indent(example, "    ")
                text = f"{text}\nExamples:\n{example}"
            obj.docstring.value = text


def _as_text(section):
    name, text = section.groups()
    return f"**{name}:** {textwrap.dedent(text)}"
