"""A page that shows what the heads of an encoder attend to."""

import base64
import dataclasses
import html
import json
import os
from importlib.resources import files

import keras
import numpy as np

from keras_bert.files.whole import whole_file
from keras_bert.messages import check_int
from keras_bert.preprocessing.bert_preprocessor import preprocessor_of
from keras_bert.text.base_tokenizer import as_str


@dataclasses.dataclass(eq=False, repr=False)
class AttentionView:
    """What each token of a text attends to, as a page; see `show_attention`.

    A notebook shows the page as the value of a cell.

    Attributes:
        tokens: list of S str.
        segments: list of S ints.
        probabilities: float32 `[layers, heads, S, S]`; the third axis is the token that attends.
        layer: the layer that is shown first.
        heads: the heads that are shown first.
    """

    tokens: list[str]
    segments: list[int]
    probabilities: np.ndarray
    layer: int
    heads: list[int]

    def html(self) -> str:
        """Returns the page, which needs no other file and no network."""
        num_layers, num_heads = self.probabilities.shape[:2]
        rounded = np.round(255 * self.probabilities).astype("uint8")
        data = {
            "tokens": self.tokens,
            "segments": self.segments,
            "num_layers": num_layers,
            "num_heads": num_heads,
            "layer": self.layer,
            "shown_heads": self.heads,
            "probabilities": base64.b64encode(rounded.tobytes()).decode(),
        }
        page = files("keras_bert.pictures").joinpath("attention_view.html")
        text = json.dumps(data).replace("<", "\\u003c")  # no tag in a text ends the script
        return page.read_text(encoding="utf-8").replace("{{data}}", text)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the page to a file, to open in a browser."""
        with whole_file(path) as file:
            file.write(self.html())

    def __repr__(self):
        layers, heads = self.probabilities.shape[:2]
        return f"AttentionView({len(self.tokens)} tokens, {layers} layers, {heads} heads)"

    def _repr_html_(self):
        height = 190 + 20 * len(self.tokens)  # controls take two lines on a phone
        return (
            f'<iframe srcdoc="{html.escape(self.html())}" width="100%" height="{height}" '
            'style="border: 0" title="Attention"></iframe>'
        )


def show_attention(
    model: keras.Model,
    text: str,
    pair: str | None = None,
    layer: int = 0,
    head: int | None = None,
) -> AttentionView:
    """Shows what each token of a text attends to, as lines between tokens.

    The probabilities are those of inference. Layer and heads are chosen on the page.

    Args:
        model: a task with a preprocessor.
        text: str, the text to show.
        pair: str, a second text; or None.
        layer: int, from 0, the layer to show first.
        head: int, from 0, the head to show first; None means all.

    Returns:
        An `AttentionView`.

    Raises:
        ValueError: if the model has no preprocessor, a text isn't a str or is too long, or there is
            no such layer or head.

    Example:
    >>> from keras_bert import BertBackbone, BertPreprocessor, BertPretrainer, BertTokenizer, sizes
    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain", "in", "spain"]
    >>> model = BertPretrainer(
    ...     BertBackbone(vocabulary_size=len(words), **sizes.tiny),
    ...     preprocessor=BertPreprocessor(BertTokenizer(words)),
    ... )
    >>> view = show_attention(model, "Rain in Spain")
    >>> view.tokens, view.probabilities.shape
    (['[CLS]', 'rain', 'in', 'spain', '[SEP]'], (2, 2, 5, 5))
    """
    preprocessor = preprocessor_of(model)
    backbone = model.backbone
    check_int("layer", layer, 0, backbone.num_layers - 1)
    if head is not None:
        check_int("head", head, 0, backbone.num_heads - 1)
    inputs = _inputs(preprocessor, text, pair)
    length = inputs["token_ids"].shape[1]
    check_int("the number of tokens", length, at_most=backbone.max_sequence_length)
    tokens = list(map(preprocessor.tokenizer.text_of, inputs["token_ids"][0]))
    layers = backbone.attention_probabilities(inputs)
    probabilities = np.concatenate([*map(keras.ops.convert_to_numpy, layers)])
    segments = inputs["segment_ids"][0].tolist()
    heads = list(range(backbone.num_heads)) if head is None else [head]
    return AttentionView(tokens, segments, probabilities, layer, heads)


def _inputs(preprocessor, text, pair):
    preprocessor = preprocessor.like(preprocessor, sequence_length=2**30)  # truncates nothing
    tokens = [preprocessor.tokenized([as_str("text", text)])]
    if pair is not None:
        tokens.append(preprocessor.tokenized([as_str("pair", pair)]))
    packer = preprocessor.packer
    inputs = packer(*tokens, width=packer.lengths(*tokens)[0])
    return {name: inputs[name] for name in ("token_ids", "segment_ids")}
