# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the length of an instruction that the decoder does not know.

New instructions use the existing forms of encoding. The form determines the length, so the next
instruction can be decoded.
"""

_PREFIXES = {0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3}
_REX = range(0x40, 0x50)
_TWO, _THREE, _EVEX, _ESCAPE = 0xC5, 0xC4, 0x62, 0x0F  # how vector instructions and others begin
_MAPS = {0x38: 2, 0x3A: 3}  # second byte behind the escape
# Instructions of the first map that have a byte of data behind the operands.
_DATA = {0x70, 0x71, 0x72, 0x73, 0xC2, 0xC4, 0xC5, 0xC6}


def length(code: bytes) -> int | None:
    """Return the first instruction's length in bytes; None if its form is unknown or it is cut."""
    try:
        at = 0
        while code[at] in _PREFIXES:
            at += 1
        if code[at] in _REX:
            at += 1
        first, at = code[at], at + 1
        if first == _ESCAPE:
            table = _MAPS.get(code[at], 1)
            at += table != 1
        elif first == _TWO:
            table, at = 1, at + 1
        elif first in (_THREE, _EVEX):
            table = code[at] & (0x1F if first == _THREE else 0x07)
            at += 2 if first == _THREE else 3
        else:
            return None
        operation, at = code[at], at + 1
        at += _operand(code[at:])
        at += table == 3 or (table == 1 and operation in _DATA)
    except IndexError:
        return None
    return at if at <= len(code) else None


def _operand(code: bytes) -> int:
    """Return the length of an operand in bytes: ModRM byte, SIB byte and displacement."""
    mode, register = code[0] >> 6, code[0] & 7
    if mode == 3:
        return 1
    size = 1
    if register == 4:
        size, register = 2, code[1] & 7
    if mode == 0:
        return size + (4 if register == 5 else 0)
    return size + (1 if mode == 1 else 4)
