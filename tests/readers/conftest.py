import pytest


@pytest.fixture
def write(write):
    """A function that writes a file of text or bytes, by default of TSV, and returns its path."""
    return lambda content, name="rows.tsv": write(content, name)
