"""What fuzz tests draw: odd objects, and valid content that is damaged."""

import copy
import datetime
import decimal
import json

import numpy as np
from hypothesis import strategies as st

HUGE = [10**9, 10**18, 10**30, 1e308, 2**63]
WRONG = [
    None,
    True,
    0,
    -1,
    1,
    3,
    0.5,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    "1",
    "\ud800",
    "a\nb",
    "..",
    "/etc/passwd",
    [],
    {},
    [[]],
    [None],
    {"": None},
    [1, "x"],
    {"type": "x"},
    "gelu",
    "keras_bert>sizes",
    "keras_bert>finetune",
]


class Odd:
    """An object that says of itself what isn't true."""

    shape = (2,)
    dtype = np.dtype("O")

    def __len__(self):
        return 2


IDS = np.array([[2, 5, 6, 3], [2, 7, 3, 0]])
ODD = [
    *WRONG,
    2,
    2**70,
    -(2**70),
    1j,
    "a b c",
    "\0",
    "a" * 300,
    b"a",
    b"\xff",
    "[MASK]",
    object(),
    len,
    Ellipsis,
    Odd(),
    decimal.Decimal(1),
    datetime.date(2020, 1, 1),
    range(2),
    {1, 2},
    np.int64(2),
    np.float32("nan"),
    np.str_("a"),
    np.array(["a", None], object),
    np.eye(2),
    np.zeros((0, 2)),
    np.array(3),
    np.zeros(2, [("a", int)]),
    IDS,
    IDS + 90,
    IDS * 0.5,
]
KEYS = "text token_ids input_ids features padding_mask words documents question context answers"
KEYS += " answer_start choices label id x"
objects = st.recursive(
    st.sampled_from(ODD),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=3)
    ),
    max_leaves=4,
)
seeds = st.integers(0, 2**32)  # of random.Random: `make fuzz` prints those of a failure


def places(content):
    """The places of values in lists and dicts, `(list or dict, index or key)`."""
    if isinstance(content, (dict, list, tuple)):
        for key in content if isinstance(content, dict) else range(len(content)):
            if not isinstance(content, tuple):
                yield content, key
            yield from places(content[key])


def nested(value, chance):
    for _ in range(chance.choice((20, 200, 700))):
        value = [value]
    return value


CHANGES = [
    lambda old, chance: chance.choice(WRONG),
    lambda old, chance: chance.choice(WRONG + HUGE),
    lambda old, chance: [old],
    lambda old, chance: {"x": old},
    lambda old, chance: old * chance.choice((-1, 2, 0.5)) if isinstance(old, int) else None,
    nested,
]


def damaged_json(content, chance):
    """Returns JSON of which a value is changed, removed or renamed."""
    if chance.random() < 0.04:
        depth = chance.choice((50, 900, 100_000))
        return '{"a": ' * depth + "1" + "}" * depth
    content = {"": copy.deepcopy(content)}
    holder, key = chance.choice([*places(content)])
    old = holder.pop(key)
    if chance.random() < 0.1 and isinstance(holder, dict):
        holder[chance.choice(("x", "999999999", "vocab_size"))] = old
    elif chance.random() < 0.9:
        changed = chance.choice(CHANGES)(old, chance)
        holder.update({key: changed}) if isinstance(holder, dict) else holder.insert(key, changed)
    return json.dumps(content.get("", None))


def damaged_bytes(content, chance):
    """Returns bytes that are cut off, missing or changed."""
    content = bytearray(content)
    if not content or chance.random() < 0.4:
        return bytes(content[: chance.choice((0, chance.randrange(len(content) + 1)))])
    for _ in range(chance.choice((1, 3, 30))):
        content[chance.randrange(len(content))] ^= chance.randrange(1, 256)
    return bytes(content)


@st.composite
def odd_arguments(draw, valid, forms):
    """An odd object, or a valid argument with an odd part, in one of some forms."""
    value = draw(objects)
    valid = copy.deepcopy(valid)
    holders = [*places(valid)]
    if holders and draw(st.integers(0, 3)):
        holder, key = draw(st.sampled_from(holders))
        holder[key] = value
        value = valid
    try:
        return draw(st.sampled_from(forms))(value)
    except Exception:  # an array of rows of several lengths, say
        return value
