"""The vocabularies and characters of the tests in `tests/text`."""

from tests.text.conftest import (  # noqa: F401
    alphabet,
    assigned_characters,
    special_tokens,
    varied_characters,
)
