"""Arguments of `from_preset`, for editors and type checkers."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class LoadingArguments(TypedDict, total=False):
    """Arguments of this library's models and of their preprocessors, each in place of the saved."""

    # Of preprocessors.
    sequence_length: int
    truncation: str
    label_names: Sequence[str] | None
    multi_label: bool
    regression: bool
    threshold: float | list[float]
    window_stride: int | None
    document_stride: int
    max_question_length: int
    max_answer_length: int
    null_threshold: float
    prompts: Mapping[str, str] | None
    default_prompt_name: str | None
    # Of tasks.
    num_classes: int | None
    num_features: int
    next_sentence: bool
    masked_lm_activation: str | None
    masked_lm_epsilon: float | None
    tie_embeddings: bool
    pooling: str | None
    normalize: bool
    layers: Sequence[int] | None
    combine: str
    truncate_dim: int | None
    matryoshka_dims: Sequence[int] | None
    similarity_fn_name: str
    # Of encoders.
    vocabulary_size: int
    num_layers: int
    num_heads: int
    hidden_dim: int
    intermediate_dim: int
    embedding_dim: int | None
    max_sequence_length: int
    num_segments: int
    activation: str
    pooler_activation: str | None
    dropout: float
    attention_dropout: float
    embedding_dropout: float
    layer_norm_epsilon: float
    relative_bias: bool
    remat: bool
    window: int
    global_every: int
    global_theta: float
    local_theta: float
    architecture: str | None
    # Of Keras.
    name: str | None
    dtype: Any
    trainable: bool
