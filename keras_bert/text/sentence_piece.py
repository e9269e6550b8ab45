"""SentencePiece models: their families, and the fields of their files."""

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from keras_bert.messages import missing

MODEL_FILE = "sentencepiece.bpe.model"
# Numbers of fields in sentencepiece_model.proto, and kinds of fields in Protocol Buffers.
PIECE, TRAINER, NORMALIZER, CHARACTERS = 1, 2, 3, 2
UNIGRAM = 1  # in `TrainerSpec.ModelType`
_VARINT, _BYTES = 0, 2
# {family: its tokens before those of the SentencePiece model, whose first three give way to them}
FAMILIES = {
    "xlm-roberta": ("<s>", "<pad>", "</s>", "<unk>"),
    "camembert": ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"),
}
# Characters that normalization turns into spaces, or deletes, for `re` and for RE2.
SPACES = (
    "[\\x01-\\x20\\x7f\x8f\x9f\xa0\u061c\u1680\u2000-\u200c\u200e\u200f\u2028\u2029\u202f\u205f"
    "\u2581\u3000\ufeff\ufffd]"
)


def loaded(model: bytes) -> Any:
    """Loads a model as a `SentencePieceProcessor`; a ValueError if it is none."""
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        raise missing("sentencepiece", "sentencepiece") from error
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
        contents = b""
        if key & 7 == _VARINT:
            _, place = _varint(message, place)
        elif key & 7 == _BYTES:
            size, place = _varint(message, place)
            contents = message[place : place + size]
            place += size
        else:
            place += {1: 8, 5: 4}[key & 7]  # doubles and floats
        yield key >> 3, message[start:place], contents


def field(number: int, contents: bytes) -> bytes:
    """Makes a field of a string, bytes or a message."""
    size, digits = len(contents), bytearray([number << 3 | _BYTES])
    while size > 127:
        digits.append(size & 127 | 128)
        size >>= 7
    return bytes(digits) + bytes([size]) + contents


def _varint(message, place):
    value = shift = 0
    while message[place] > 127:
        value |= (message[place] & 127) << shift
        place, shift = place + 1, shift + 7
    return value | message[place] << shift, place + 1


def unigram_model(pieces: Iterable[tuple[str, float]], characters: bytes) -> bytes:
    """Makes a SentencePiece model of pieces with their scores, and a table of characters."""

    def piece(token, score, kind=1):
        return field(
            PIECE, field(1, token.encode()) + struct.pack("<Bf2B", 0x15, score, 0x18, kind)
        )

    special = [piece("<unk>", 0, 2), piece("<s>", 0, 3), piece("</s>", 0, 3)]
    model = field(TRAINER, bytes([0x18, UNIGRAM]))
    normalizer = field(NORMALIZER, field(1, b"nmt_nfkc") + field(CHARACTERS, characters))
    return b"".join([*special, *(piece(*each) for each in pieces), model, normalizer])
