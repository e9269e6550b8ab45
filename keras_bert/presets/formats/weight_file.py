"""Checks of Keras's weight files that others wrote."""

import zlib
from pathlib import Path


def checked_num_bytes(path: Path) -> int | None:
    """Checks a `.weights.h5` file and returns its size; None if there is no such file.

    Keras reads an array completely before it compares its shape, and follows links. The arrays must
    therefore be stored in the file itself, without compression.

    Raises:
        ValueError: if the file is damaged, or doesn't hold all its arrays.
    """
    import h5py

    if not path.is_file():
        return None
    size, stored = path.stat().st_size, 0
    try:
        with h5py.File(path, "r") as file:
            groups = [file]
            while groups:
                group = groups.pop()
                for name in group:
                    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                        raise ValueError(f"{group.name}/{name} is a link")
                    if isinstance(group[name], h5py.Group):
                        groups.append(group[name])
                    else:
                        stored += group[name].nbytes
                if stored > size or len(groups) > size:  # groups may contain each other
                    raise ValueError("it describes more data than it holds")
    except Exception as error:  # HDF5 raises errors of any kind
        raise ValueError(f"{path} is damaged, a truncated file or unsafe: {error}") from error
    return size


def crc32_of(path: Path) -> int:
    """Returns the CRC-32 of a file."""
    checksum = 0
    with open(path, "rb") as file:
        while part := file.read(2**20):
            checksum = zlib.crc32(part, checksum)
    return checksum


def check_crc32(path: Path, expected: int | None) -> None:
    """Raises a ValueError if a file doesn't have this CRC-32; None is that of no file."""
    if expected is not None and crc32_of(path) != expected:
        raise ValueError(
            f"{path} is damaged, or not the file that belongs to config.json: its checksum is "
            "another one. Write the preset again with save_to_preset, or download it again."
        )
