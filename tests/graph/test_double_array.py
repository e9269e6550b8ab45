"""The double array, walked as its readers do."""

import random

from keras_bert.graph.double_array import double_array


def look_up(units, key):
    """Returns the value of `key`, or None, by the rules of darts-clone."""
    units = units.tolist()
    at, unit = 0, units[0]

    def offset(unit):
        return (unit >> 10) << ((unit & 0x200) >> 6)

    for byte in key:
        at ^= offset(unit) ^ byte
        unit = units[at]
        if unit & 0x800000FF != byte:
            return None
    return units[at ^ offset(unit)] & 0x7FFFFFFF if unit & 0x100 else None


def test_every_key_is_found_and_no_other():
    rng = random.Random(3)
    keys = {bytes(rng.choices(range(1, 256), k=rng.randrange(1, 4))) for _ in range(800)}
    keys |= {bytes(rng.choices(b"abc", k=rng.randrange(1, 6))) for _ in range(200)}
    values = {key: rng.randrange(2**31) for key in keys}
    units = double_array(values)
    assert len(units) % 256 == 0
    for key in keys:
        assert look_up(units, key) == values[key]
    for _ in range(2000):
        other = bytes(rng.choices(b"abcd\xff\x01", k=rng.randrange(1, 6)))
        assert look_up(units, other) == values.get(other)


def test_what_follows_alike_is_stored_once():
    tails = {bytes([second, third]): 7 for second in range(1, 60) for third in range(1, 60)}
    once = double_array({b"a" + tail: 7 for tail in tails})
    many = double_array({bytes([first]) + tail: 7 for first in range(1, 60) for tail in tails})
    assert len(many) <= len(once) + 256
    assert look_up(many, b"\x3b\x3b\x3b") == 7
