"""SentencePiece models: their families, and the fields of their files."""

import struct
from collections.abc import Container, Iterable, Iterator
from typing import Any

from keras_bert.messages import from_extra

MODEL_FILE = "sentencepiece.bpe.model"
# Numbers of fields in sentencepiece_model.proto, and kinds of fields in Protocol Buffers.
_PIECE, TRAINER, _NORMALIZER, _CHARACTERS = 1, 2, 3, 2
_MODEL_TYPE, _BYTE_FALLBACK = 3, 35  # in `TrainerSpec`
_UNIGRAM = 1  # in `TrainerSpec.ModelType`
_VARINT, _BYTES = 0, 2
# {family: its tokens before those of the SentencePiece model, whose first three give way to them}
FAMILIES = {
    "xlm-roberta": ("<s>", "<pad>", "</s>", "<unk>"),
    "camembert": ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"),
}
SPECIAL_TOKENS = {"<mask>", *(token for tokens in FAMILIES.values() for token in tokens)}
# Characters that normalization turns into spaces, or deletes, for `re` and for RE2.
SPACES = (
    "[\\x01-\\x20\\x7f\x8f\x9f\xa0\u061c\u1680\u2000-\u200c\u200e\u200f\u2028\u2029\u202f\u205f"
    "\u2581\u3000\ufeff\ufffd]"
)


def loaded(model: bytes) -> Any:
    """Loads a model as a `SentencePieceProcessor`; a ValueError if it is none."""
    with from_extra("sentencepiece"):
        from sentencepiece import SentencePieceProcessor
    processor = SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except (RuntimeError, ValueError) as error:
        raise ValueError(
            f"The vocabulary is no SentencePiece model; it begins with {model[:20]!r}."
        ) from error
    return processor


def fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yields the fields of a message of Protocol Buffers: `(number, whole field, contents)`.

    sentencepiece's own classes for its file need a newer protobuf than TensorFlow has. Contents are
    those of strings, bytes and messages.
    """
    place = 0
    while place < len(message):
        start = place
        key, place = _varint(message, place)
        number, kind = divmod(key, 8)
        contents = b""
        if kind == _VARINT:
            _, place = _varint(message, place)
        elif kind == _BYTES:
            size, place = _varint(message, place)
            contents = message[place : place + size]
            place += size
        else:
            place += {1: 8, 5: 4}[kind]  # doubles and floats
        yield number, message[start:place], contents


def field(number: int, contents: bytes) -> bytes:
    """Makes a field of a string, bytes or a message."""
    return varint(number << 3 | _BYTES) + varint(len(contents)) + contents


def varint(value: int) -> bytes:
    """Makes an int of Protocol Buffers."""
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def _varint(message, place):
    value = shift = 0
    while message[place] > 127:
        value |= (message[place] & 127) << shift
        place += 1
        shift += 7
    return value | message[place] << shift, place + 1


def is_plain_unigram(model: bytes) -> bool:
    """Returns whether a model chooses the most probable pieces, none of them for single bytes."""
    trainer = b"".join(contents for number, contents in _contents(model) if number == TRAINER)
    values = {number: whole[-1] for number, whole, _ in fields(trainer)}
    is_unigram = values.get(_MODEL_TYPE, _UNIGRAM) == _UNIGRAM
    return is_unigram and not values.get(_BYTE_FALLBACK)


def normalizer_table(model: bytes) -> bytes:
    """Returns a model's table that normalizes characters."""
    normalizer = dict(_contents(model))[_NORMALIZER]
    return dict(_contents(normalizer)).get(_CHARACTERS, b"")


def _contents(message):
    return [(number, contents) for number, _, contents in fields(message)]


def with_pieces(model: bytes, indices: Container[int]) -> bytes:
    """Returns a model with some of its pieces."""
    smaller = bytearray()
    index = 0  # of a piece
    for number, whole, _ in fields(model):
        if number != _PIECE or index in indices:
            smaller += whole
        if number == _PIECE:
            index += 1
    return bytes(smaller)


def unigram_model(pieces: Iterable[tuple[str, float]], characters: bytes) -> bytes:
    """Makes a SentencePiece model of pieces with their scores, and a table of characters."""
    model = bytearray(_piece("<unk>", 0, 2) + _piece("<s>", 0, 3) + _piece("</s>", 0, 3))
    for token, score in pieces:
        model += _piece(token, score, 1)
    model += field(TRAINER, bytes([0x18, _UNIGRAM]))
    normalizer = field(1, b"nmt_nfkc") + field(_CHARACTERS, characters)
    return bytes(model + field(_NORMALIZER, normalizer))


def _piece(token, score, kind):
    contents = field(1, token.encode()) + struct.pack("<Bf2B", 0x15, score, 0x18, kind)
    return field(_PIECE, contents)
