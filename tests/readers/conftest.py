import pytest


@pytest.fixture
def write(tmp_path):
    """A function that writes a file of text or bytes and returns its path."""

    def write(content, name="rows.tsv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
