"""What other libraries call a model."""

from typing import NamedTuple


class Published(NamedTuple):
    """The names of a class of models in other libraries, and what its model card says.

    None stands for no name.
    """

    head: str | None = None  # the end of its class's name in transformers
    wrapper: str | None = None  # the class of sentence-transformers that loads it
    pipeline: str | None = None  # of the Hugging Face Hub
    javascript_pipeline: str | None = None  # of transformers.js
    settings: tuple[str, ...] = ()  # of the preprocessor, for which config.json has no keys
    settings_key: str | None = None  # of config.json, for these settings
    output: str = "logits"  # an array in exported files; the outputs in a dict have names
    purpose: str = "has a task of its own"  # on the card, after "A model that"
    example: str | None = None  # on the card, a call of one of its methods
    texts: tuple[str, ...] = ("What a book!",)  # that a tokenizer reads
