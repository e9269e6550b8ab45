"""Checks of Keras's weight files that others wrote."""

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
