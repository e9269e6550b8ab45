"""Lets mkdocstrings show the `Example:` of a docstring, its last section, as code."""

import textwrap

import griffe


class Examples(griffe.Extension):
    """Turns it into the section `Examples:` of Google's style."""

    def on_object(self, *, obj, **kwargs):
        if obj.docstring:
            text, heading, example = obj.docstring.value.partition("\nExample:\n")
            if heading:
                example = textwrap.indent(example, "    ")
                obj.docstring.value = f"{text}\nExamples:\n{example}"
