"""The normalization of BERT's BasicTokenizer as a table that TensorFlow Text applies in C++.

Source: `tokenization.py` of google-research/bert, `BasicTokenizer`. Its cleaning, lower-casing and
accent stripping act on one character at a time, with two exceptions: the capital sigma, whose lower
case depends on its neighbors (`tokenizer.py` corrects it), and marks that NFD reorders.
"""

import functools
import unicodedata
from typing import NamedTuple

import flatbuffers
import numpy as np
import tensorflow as tf

from keras_bert.graph.double_array import double_array
from keras_bert.graph.tensorflow_text import tf_text
from keras_bert.text.basic_words import (
    character_ranges,
    cleaned,
    is_cjk,
    is_punctuation,
    without_accents,
)


class Casing(NamedTuple):
    """What becomes of letters."""

    lowercase: bool
    strip_accents: bool


CASED = Casing(False, False)

SIGMA = "\u03a3"
# Normalized text holds U+FFFD only where this module puts it: U+FFFD in the input is deleted.
PLACEHOLDER = "\ufffd"

_UNNAMED = {"Cn", "Co", "Cs"}  # unassigned, private, surrogate: never changed
_PROBED = 0x20000  # all punctuation is below; above are ideographs, tags and private planes


@functools.cache
def _assigned_characters():
    characters = map(chr, range(0x110000))
    return [c for c in characters if unicodedata.category(c) not in _UNNAMED]


@functools.cache
def character_map(casing: Casing) -> dict[str, str]:
    """Maps the characters that normalization changes to "" if deleted, " ", or a replacement."""
    table = {}
    for character in _assigned_characters():
        normal = cleaned(character)
        if normal == character and casing.lowercase and character != SIGMA:
            normal = character.lower()
            if casing.strip_accents:
                normal = without_accents(normal)
        if normal != character:
            table[character] = normal
    return table


@functools.cache
def punctuation_map() -> dict[str, str]:
    """Returns replacements of characters that are punctuation for only one of ICU and Python.

    TensorFlow Text splits words at ICU's punctuation, tokenization.py at Python's. A character at
    which only ICU splits is replaced by two others that no text contains. A character at which only
    Python splits gets spaces around it.
    """
    surrogates = np.arange(0xD800, 0xE000)
    code_points = np.setdiff1d(np.arange(1, _PROBED), surrogates)
    words = np.full((len(code_points), 3), ord("a"), np.int32)
    words[:, 1] = code_points
    with tf.device("CPU:0"):
        probe = tf_text.FastWordpieceTokenizer(["a", "[UNK]"], token_out_type=tf.string)
        pieces = probe.tokenize(tf.strings.unicode_encode(words, "UTF-8"))
        splits = pieces.row_lengths().numpy() > 1
    never_there = {*character_map(CASED), " "}
    table = {}
    for code_point, icu in zip(code_points.tolist(), splits.tolist(), strict=True):
        character = chr(code_point)
        python = is_punctuation(character) or is_cjk(character)
        if icu == python or character in never_there:
            continue
        if icu:
            table[character] = PLACEHOLDER + chr(0xE000 + len(table))
        else:
            table[character] = f" {character} "
    return table


@functools.cache
def normalizer_model(casing: Casing) -> np.ndarray:
    """Serializes the table for `tensorflow_text.FastBertNormalizer(model_buffer=...)`.

    It also deletes ill-formed pieces of UTF-8, as Python's `decode(errors="ignore")` does.
    """
    pool = bytearray()
    offsets = {}
    values = {}
    changed = character_map(casing)
    punctuation = str.maketrans(punctuation_map())
    table = {**punctuation_map(), **changed}
    for character, normal in table.items():
        if character in changed:
            normal = normal.translate(punctuation)
        normal = normal.encode()
        if normal not in offsets:
            offsets[normal] = len(pool)
            pool += normal
        values[character.encode()] = (1 << 30) + (offsets[normal] << 6) + len(normal)
    deleted = values.pop(b"\0")
    values |= dict.fromkeys(_ill_formed(), deleted)
    return _flatbuffer(casing.strip_accents, double_array(values), deleted, pool)


def _ill_formed():
    """Yields the ill-formed pieces that a decoder finds in broken UTF-8: truncated characters."""
    for lead in range(0x80, 0x100):
        yield bytes([lead])
        if not 0xE0 <= lead <= 0xF4:
            continue
        for second in range(0x80, 0xC0):
            piece = bytes([lead, second])
            tail = b"\x80" * (1 if lead < 0xF0 else 2)
            if not (piece + tail).decode(errors="ignore"):
                continue
            yield piece
            if lead >= 0xF0:
                for third in range(0x80, 0xC0):
                    yield piece + bytes([third])


def _flatbuffer(strips_accents, trie, value_of_nul, pool):
    builder = flatbuffers.Builder(len(pool) + trie.nbytes + 1024)
    trie_offset = builder.CreateNumpyVector(trie)
    pool_offset = builder.CreateNumpyVector(np.frombuffer(bytes(pool), np.uint8))
    builder.StartObject(4)
    builder.PrependBoolSlot(0, strips_accents, False)
    builder.PrependUOffsetTRelativeSlot(1, trie_offset, 0)
    builder.PrependInt32Slot(2, value_of_nul, 0)
    builder.PrependUOffsetTRelativeSlot(3, pool_offset, 0)
    builder.Finish(builder.EndObject())
    return np.frombuffer(bytes(builder.Output()), np.uint8)


@functools.cache
def sigma_rewrites(casing: Casing) -> list[tuple[str, str]]:
    """Returns the final-sigma rule of `str.lower` as `(RE2 pattern, rewrite)`, in order.

    A sigma is final if a cased letter precedes it and none follows it within the word, ignoring
    what Unicode calls case-ignorable (apostrophes, ...). All rewrites keep the number of bytes.
    """
    cased = []
    ignorable = []
    changed = character_map(casing)
    for character in _assigned_characters():
        if character in changed:
            continue
        if f"A{SIGMA}{character}".lower()[1] == "\u03c3":
            cased.append(character)
        elif f"A{SIGMA}{character}A".lower()[1] == "\u03c3":
            ignorable.append(character)
    cased = f"[{character_ranges(cased)}]"
    ignorable = f"[{character_ranges(ignorable)}]"
    before_cased = (f"{SIGMA}({ignorable}*{cased})", "\u03c3\\1")
    return [
        before_cased,
        before_cased,  # twice, because a match consumes the next sigma
        (f"({cased}{ignorable}*){SIGMA}", "\\1\u03c2"),
        (SIGMA, "\u03c3"),
    ]
