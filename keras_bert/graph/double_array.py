"""A byte trie as a double array, in the layout that TensorFlow Text reads (darts-clone)."""

from collections.abc import Mapping

import numpy as np

_LEAF = 0x80000000
_HAS_LEAF = 0x100
_PAGE = 256


def double_array(values: Mapping[bytes, int]) -> np.ndarray:
    """Builds the double array of a map from byte strings, without NUL, to numbers below 2**31.

    Each unit of the array, uint32, is one state. Its low byte is the label that leads to it, bit 8
    is set if the state has a value, and bits 10 and up hold `index ^ base`. The state after byte
    `b` is at `base ^ b`, and the value is at `base`. A step is valid if the unit found there
    carries the requested label. Two states may therefore share a base only if their subtrees are
    equal; equal subtrees are stored once. The length is a multiple of 256.
    """
    blocks, root = _shared_blocks(values)
    bases, size = _place(blocks)
    units = np.zeros(size, np.uint32)
    units[0] = bases[root] << 10
    for children, base in zip(blocks, bases, strict=True):
        for label, child in children:
            if label == 0:
                units[base] = child | _LEAF
            else:
                index = base ^ label
                has_leaf = _HAS_LEAF if _has_value(blocks[child]) else 0
                units[index] = label | has_leaf | (index ^ bases[child]) << 10
    return units


def _has_value(block):
    return block[0][0] == 0  # labels are sorted, and 0 is the value


def _shared_blocks(values):
    """Returns [((label, child block or value), ...), ...] and the number of the root block."""
    trie = {}
    for key, value in values.items():
        node = trie
        for byte in key:
            node = node.setdefault(byte, {})
        node[0] = value
    numbers = {}

    def number_of(node):
        children = []
        for label, child in sorted(node.items()):
            if label != 0:
                child = number_of(child)
            children.append((label, child))
        return numbers.setdefault(tuple(children), len(numbers))

    root = number_of(trie)
    return list(numbers), root


def _place(blocks):
    """Returns a distinct base for each block, so that no units overlap, and the array's size."""
    bases = [0] * len(blocks)
    free = np.ones(_PAGE, bool)
    free[0] = False  # the root's own unit
    unused = np.ones(_PAGE, bool)  # as a base
    start = 0  # earlier pages are treated as full
    for index in sorted(range(len(blocks)), key=lambda index: -len(blocks[index])):
        labels = np.array([label for label, _ in blocks[index]])
        fits = _fitting_bases(labels, free, unused, start)
        while not len(fits):
            start = max(start, len(free) - 3 * _PAGE)
            free = np.append(free, np.ones(_PAGE, bool))
            unused = np.append(unused, np.ones(_PAGE, bool))
            fits = _fitting_bases(labels, free, unused, start)
        base = int(fits[0])
        bases[index] = base
        unused[base] = False
        free[base ^ labels] = False
    return bases, len(free)


def _fitting_bases(labels, free, unused, start):
    bases = start + np.flatnonzero(unused[start:])
    return bases[free[bases[:, None] ^ labels].all(axis=1)]
