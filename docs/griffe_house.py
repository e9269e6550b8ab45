"""How mkdocstrings reads the last section of this package's docstrings."""

import textwrap

import griffe


class House(griffe.Extension):
    """Shows `Example:` as code."""

    def on_object(self, *, obj, **kwargs):
        if obj.docstring:
            text, heading, example = obj.docstring.value.partition("\nExample:\n")
            if heading:
                example = textwrap.indent(example, "    ")
                obj.docstring.value = f"{text}\nExamples:\n{example}"
