"""Memory traffic of a compiled program: the bytes it reads from and writes to a chip's HBM."""

import math
import re
from collections.abc import Iterator

_BITS = re.compile(r"[a-z]+(\d+)")
_SHAPE = re.compile(r"\b(pred|[a-z]+\d+\w*)\[([\d,]*)\](\{[^{}]*\})?")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*?)\)(.*)$")
_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.-]+) \(.*\{$")
_MOVE_NOTHING = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "while"}
# Index of the array, among an operation's results, that has the size of the data moved.
_COPIES = {"copy-start": 0, "slice-start": 1}
_OTHER_MEMORY = "S("  # a memory space other than HBM; VMEM is S(1)


def hbm_traffic(program: str, num_iterations: int = 1) -> int:
    """Counts the bytes that a program moves between a chip and its HBM.

    The compiler's own "bytes accessed" include what stays in on-chip memory (VMEM). This function
    counts only operands and results in HBM, each in full, and an operand that an instruction names
    several times once. `program` is an optimized HLO module, with loops of `num_iterations`.

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
    return sum(num_bytes for num_bytes, _ in hbm_moves(program, num_iterations))


def hbm_moves(program: str, num_iterations: int = 1) -> Iterator[tuple[int, str]]:
    """Yields `(bytes, name)` for each instruction that moves data between a chip and its HBM.

    The name is that of the operation in the model's own code, such as
    `"jit(steps)/jvp(bert_backbone)/block_0/attention/dot_general"`, or `""`.
    """
    return _moves(*_parse(program), num_iterations)


def _moves(computation, computations, num_iterations):
    shapes = {}
    for instruction, shape, operation, operands, attributes in computations[computation]:
        shapes[instruction] = arrays = _arrays(shape)
        if operation == "while":
            body = re.search(r"body=%?([\w.-]+)", attributes).group(1)
            for num_bytes, name in _moves(body, computations, num_iterations):
                yield num_iterations * num_bytes, name
        if operation == "async-start":  # wraps its computation's last operation, such as "slice"
            called = re.search(r"calls=%?([\w.-]+)", attributes).group(1)
            operation = f"{computations[called][-1][2]}-start"
        if operation in _MOVE_NOTHING or operation.endswith("-done"):
            continue
        if operation in _COPIES:  # the first two arrays are the source and the destination
            size = arrays[_COPIES[operation]][0]
            num_bytes = sum(size for _, in_hbm in arrays[:2] if in_hbm)
        else:
            moved = list(arrays)
            for name in set(re.findall(r"%([\w.-]+)", operands)):  # each is read once
                moved += shapes.get(name, ())
            num_bytes = sum(size for size, in_hbm in moved if in_hbm)
        name = re.search(r'op_name="([^"]*)"', attributes)
        yield num_bytes, name.group(1) if name else ""


def _parse(program):
    """Returns the entry computation's name and `{computation: its instructions}`."""
    entry = None
    computations = {}
    instructions = []
    for line in program.splitlines():
        start = _COMPUTATION.match(line)
        instruction = _INSTRUCTION.match(line)
        if start:
            is_entry, name = start.groups()
            instructions = computations[name] = []
            if is_entry:
                entry = name
        elif instruction:
            instructions.append(instruction.groups())
    return entry, computations


def _arrays(shape):
    """Returns `(bytes, whether in HBM)` for each array in the text of a shape."""
    arrays = []
    for dtype, dims, layout in _SHAPE.findall(shape):
        bits = 8 if dtype == "pred" else int(_BITS.match(dtype).group(1))
        sizes = [int(size) for size in dims.split(",") if size]
        num_bytes = bits * math.prod(sizes) // 8
        arrays.append((num_bytes, _OTHER_MEMORY not in layout))
    return arrays
