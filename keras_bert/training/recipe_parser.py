"""The parser of a recipe's command line."""

import argparse


def recipe_parser(docstring: str) -> argparse.ArgumentParser:
    """Makes the parser of a recipe's command line.

    `--help` begins with the first paragraph of the recipe's docstring and shows the default of
    each argument that has one.

    Args:
        docstring: the docstring of the recipe.

    Example:
    >>> from keras_bert import recipe_parser
    >>> parser = recipe_parser("Trains a tiny BERT.")
    >>> parser.description
    'Trains a tiny BERT.'
    """
    return argparse.ArgumentParser(description=docstring.split("\n\n")[0], formatter_class=_Help)


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Help texts with their defaults, but for flags and arguments that are optional."""

    def _get_help_string(self, action):
        has_default = action.default not in (None, False, [])
        return super()._get_help_string(action) if has_default else action.help
