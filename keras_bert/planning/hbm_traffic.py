"""How much a compiled program reads from a chip's memory, and writes to it."""

import re

_BITS = re.compile(r"[a-z]+(\d+)")
_SHAPE = re.compile(r"\b(pred|[a-z]+\d+\w*)\[([\d,]*)\](\{[^{}]*\})?")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*?)\)(.*)$")
_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.-]+) \(.*\{$")
_MOVE_NOTHING = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "while"}
_COPIES = {"copy-start": 0, "slice-start": 1}  # which of its arrays has the size of what it moves
_ELSEWHERE = "S("  # a memory space other than HBM, such as VMEM, S(1)


def hbm_traffic(program, turns=1):
    """The bytes that a program moves between a chip and its HBM.

    The compiler keeps much of what operations hand on in the chip's own memory (VMEM), which its
    count of "bytes accessed" doesn't tell apart. Here every operation counts what it takes and
    gives in HBM, whole.

    Args:
        program: str, the text of an optimized HLO module.
        turns: int, those of each loop.

    Returns:
        An int.

    Example:
    >>> text = '''
    ... ENTRY %main (a: f32[8]) -> f32[8] {
    ...   %a = f32[8]{0:T(128)} parameter(0)
    ...   %b = f32[8]{0:T(128)S(1)} negate(%a)
    ...   ROOT %c = f32[8]{0:T(128)} negate(%b)
    ... }'''
    >>> hbm_traffic(text)  # reads a, writes c, 32 bytes each
    64
    """
    entry, computations = _computations(program)
    return _traffic(computations, entry, turns)


def _traffic(computations, computation, turns):
    shapes, moved = {}, 0
    for instruction, shape, operation, operands, attributes in computations[computation]:
        shapes[instruction] = arrays = _arrays(shape)
        if operation == "while":
            body = re.search(r"body=%?([\w.-]+)", attributes).group(1)
            moved += turns * _traffic(computations, body, turns)
        if operation == "async-start":  # of what its last instruction does: "slice-start"
            called = re.search(r"calls=%?([\w.-]+)", attributes).group(1)
            operation = f"{computations[called][-1][2]}-start"
        if operation in _MOVE_NOTHING or operation.endswith("-done"):
            continue
        if operation in _COPIES:  # the arrays are where it comes from and goes to
            size = arrays[_COPIES[operation]][0]
            moved += sum(size for _, in_hbm in arrays[:2] if in_hbm)
            continue
        taken = (shapes.get(name, ()) for name in re.findall(r"%([\w.-]+)", operands))
        moved += sum(size for part in (arrays, *taken) for size, in_hbm in part if in_hbm)
    return moved


def _computations(program):
    """The name of the first computation to run, and the instructions of each by its name."""
    entry, found, current = None, {}, []
    for line in program.splitlines():
        if start := _COMPUTATION.match(line):
            current = found.setdefault(start.group(2), [])
            entry = start.group(2) if start.group(1) else entry
        elif instruction := _INSTRUCTION.match(line):
            current.append(instruction.groups())
    return entry, found


def _arrays(shape):
    """`(bytes, whether in HBM)` of each array of a shape's text."""
    return [
        (_num_bytes(dtype, dims), _ELSEWHERE not in layout)
        for dtype, dims, layout in _SHAPE.findall(shape)
    ]


def _num_bytes(dtype, dims):
    bits = 8 if dtype == "pred" else int(_BITS.match(dtype).group(1))
    for size in filter(None, dims.split(",")):
        bits *= int(size)
    return bits // 8
