"""SentencePiece models: their families, and the fields of their files."""

import struct
from collections.abc import Container, Iterable, Iterator
from typing import Any

from keras_bert.messages import from_extra

MODEL_FILE = "sentencepiece.bpe.model"
# Numbers of fields in sentencepiece_model.proto.
_PIECE = 1
TRAINER = 2
_NORMALIZER = 3
_CHARACTERS = 2  # of the normalizer
_MODEL_TYPE = 3  # of the trainer
_UNIGRAM = 1  # a model type
_BYTE_FALLBACK = 35
_SCORE = 2  # of a piece
_PIECE_TYPE = 3
_NORMAL = 1  # types of pieces
_UNKNOWN = 2
_CONTROL = 3
# Types of fields in Protocol Buffers.
_VARINT = 0
_BYTES = 2
_FLOAT = 5
_NUM_BYTES = {1: 8, _FLOAT: 4}  # of doubles and floats
# {family: its first tokens, which replace the first three of the SentencePiece model}
FAMILIES = {
    "xlm-roberta": ("<s>", "<pad>", "</s>", "<unk>"),
    "camembert": ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"),
}
SPECIAL_TOKENS = {"<mask>"}.union(*FAMILIES.values())
# Characters that normalization turns into spaces, or deletes, for `re` and for RE2.
SPACES = (
    "[\\x01-\\x20\\x7f\x8f\x9f\xa0\u061c\u1680\u2000-\u200c\u200e\u200f\u2028\u2029\u202f\u205f"
    "\u2581\u3000\ufeff\ufffd]"
)


def loaded(model: bytes) -> Any:
    """Loads a model as a `SentencePieceProcessor`; raises a ValueError if it is invalid."""
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


def decode_fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yields the fields of a message of Protocol Buffers: `(number, whole field, contents)`.

    sentencepiece's own classes for its file need a newer protobuf than TensorFlow has. Contents are
    those of strings, bytes and messages.
    """
    place = 0
    while place < len(message):
        start = place
        key, place = _decode_varint(message, place)
        number, field_type = divmod(key, 8)
        contents = b""
        if field_type == _VARINT:
            _, place = _decode_varint(message, place)
        elif field_type == _BYTES:
            size, place = _decode_varint(message, place)
            contents = message[place : place + size]
            place += size
        else:
            place += _NUM_BYTES[field_type]
        yield number, message[start:place], contents


def encode_field(number: int, contents: bytes) -> bytes:
    """Encodes a field of a string, bytes or a message."""
    return _key(number, _BYTES) + encode_varint(len(contents)) + contents


def _key(number, field_type):
    return encode_varint(number << 3 | field_type)


def encode_varint(value: int) -> bytes:
    """Encodes an int of Protocol Buffers."""
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def _decode_varint(message, place):
    """Returns `(value, the place after it)`."""
    value = 0
    shift = 0
    while message[place] > 127:
        value |= (message[place] & 127) << shift
        place += 1
        shift += 7
    value |= message[place] << shift
    return value, place + 1


def is_plain_unigram(model: bytes) -> bool:
    """Returns whether a model chooses the most probable pieces, none of them for single bytes."""
    trainer = dict(_contents(model)).get(TRAINER, b"")
    values = {}
    for number, whole, _ in decode_fields(trainer):
        values[number] = whole[-1]  # of small ints, one byte
    is_unigram = values.get(_MODEL_TYPE, _UNIGRAM) == _UNIGRAM
    return is_unigram and not values.get(_BYTE_FALLBACK)


def normalizer_table(model: bytes) -> bytes:
    """Returns a model's table that normalizes characters."""
    normalizer = dict(_contents(model))[_NORMALIZER]
    return dict(_contents(normalizer)).get(_CHARACTERS, b"")


def _contents(message):
    return [(number, contents) for number, _, contents in decode_fields(message)]


def with_pieces(model: bytes, indices: Container[int]) -> bytes:
    """Returns a model with some of its pieces."""
    smaller = bytearray()
    index = 0  # of a piece
    for number, whole, _ in decode_fields(model):
        if number != _PIECE or index in indices:
            smaller += whole
        if number == _PIECE:
            index += 1
    return bytes(smaller)


def unigram_model(pieces: Iterable[tuple[str, float]], characters: bytes) -> bytes:
    """Makes a SentencePiece model of pieces with their scores, and a table of characters."""
    model = bytearray(_piece("<unk>", 0, _UNKNOWN))
    model += _piece("<s>", 0, _CONTROL)
    model += _piece("</s>", 0, _CONTROL)
    for token, score in pieces:
        model += _piece(token, score, _NORMAL)
    model += encode_field(TRAINER, _int_field(_MODEL_TYPE, _UNIGRAM))
    normalizer = encode_field(1, b"nmt_nfkc") + encode_field(_CHARACTERS, characters)
    return bytes(model + encode_field(_NORMALIZER, normalizer))


def _piece(token, score, piece_type):
    contents = encode_field(1, token.encode())
    contents += _key(_SCORE, _FLOAT) + struct.pack("<f", score)
    return encode_field(_PIECE, contents + _int_field(_PIECE_TYPE, piece_type))


def _int_field(number, value):
    return _key(number, _VARINT) + encode_varint(value)
