"""Files of TensorBoard's projector."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.files.whole import whole_file
from keras_bert.pictures.vector_checks import checked_vectors

if TYPE_CHECKING:
    import numpy.typing as npt


def save_projector(
    folder: str | os.PathLike,
    vectors: "npt.ArrayLike",
    texts: Sequence[str] | None = None,
    labels: Sequence[Any] | None = None,
) -> None:
    r"""Writes vectors for TensorBoard's projector, which shows them in three dimensions.

    See them with `tensorboard --logdir FOLDER`, under "Projector". Points can be searched by text
    and colored by label.

    The folder gets `vectors.tsv`, `metadata.tsv` if there are texts or labels, and
    `projector_config.pbtxt`; it may have other files. Line breaks and tabs in texts become spaces.

    Args:
        folder: a path.
        vectors: `[n, H]` numbers, such as those of `BertEmbedder.predict`.
        texts: n strings; or None.
        labels: n names or numbers of classes; or None.

    Raises:
        ValueError: if vectors have another shape, a number isn't finite, or texts or labels are
            not n.

    Example:
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> save_projector(folder, [[0.5, 1], [2, 3]], ["a\nbook", "a film"], ["good", "bad"])
    >>> print(open(f"{folder}/metadata.tsv").read().expandtabs(8), end="")
    text    label
    a book  good
    a film  bad
    """
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    vectors, columns = checked_vectors(vectors, 1, text=texts, label=labels)
    config = ProjectorConfig()
    embedding = config.embeddings.add(tensor_name="vectors", tensor_path="vectors.tsv")
    embedding.tensor_shape.extend(vectors.shape)
    folder = os.fspath(folder)
    # The plugin takes binary vectors for text if their bytes happen to be text.
    with whole_file(f"{folder}/vectors.tsv") as file:
        np.savetxt(file, vectors, fmt="%.9g", delimiter="\t")
    if columns:
        embedding.metadata_path = "metadata.tsv"
        header = ["\t".join(columns)] if len(columns) > 1 else []  # one column has none
        rows = ("\t".join(map(_cell, row)) for row in zip(*columns.values(), strict=True))
        with whole_file(f"{folder}/metadata.tsv") as file:
            file.writelines(f"{line}\n" for line in (*header, *rows))
    with whole_file(f"{folder}/projector_config.pbtxt") as file:
        file.write(text_format.MessageToString(config))


def _cell(value):
    """Returns a value as text on one line; the projector skips empty lines."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    text = text.encode(errors="replace").decode().replace("\ufeff", "")
    return " ".join(text.split()) or "(empty)"
