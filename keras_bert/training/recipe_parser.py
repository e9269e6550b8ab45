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
    """Help texts with their defaults, except for switches and arguments without a default.

    A text that explains a default of None ends in "; by default, ...". The end is left out where
    a recipe sets another default.
    """

    def _get_help_string(self, action):
        default = action.default
        if default is None or default is False or default in ([], argparse.SUPPRESS):
            return action.help
        return f"{action.help.partition('; by default')[0]} (default: %(default)s)"
