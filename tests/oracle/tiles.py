"""Tile kinds and their names.

Kinds: 0-8 characters (m), 9-17 dots (p), 18-26 bamboo (s), 27-33 E S W N C F P. With flowers,
34-41 are f1-f8 (seasons, then plants).
"""

from collections.abc import Iterable

NUM_KINDS = 34
FIRST_HONOR = 27
FIRST_FLOWER = NUM_KINDS
WINDS = (27, 28, 29, 30)
DRAGONS = (31, 32, 33)
NUM_COPIES = 4

_HONOR_NAMES = "ESWNCFP"
_SUIT_NAMES = "mps"


def name(kind: int) -> str:
    """Names a kind, such as "5m", "E" or "f3"."""
    if kind >= NUM_KINDS:
        return f"f{kind - NUM_KINDS + 1}"
    if kind >= FIRST_HONOR:
        return _HONOR_NAMES[kind - FIRST_HONOR]
    return f"{kind % 9 + 1}{_SUIT_NAMES[kind // 9]}"


def parse(text: str) -> int:
    """Reads the name of one kind.

    Args:
      text: a name such as "5m", "E" or "f3".

    Returns:
      The kind, 0-33, or 34-41 for a flower.

    Raises:
      ValueError: if there is no such kind.
    """
    if len(text) == 1 and text in _HONOR_NAMES:
        return FIRST_HONOR + _HONOR_NAMES.index(text)
    if len(text) == 2 and text[0] == "f" and text[1] in "12345678":
        return NUM_KINDS + int(text[1]) - 1
    if len(text) == 2 and text[1] in _SUIT_NAMES and text[0] in "123456789":
        return 9 * _SUIT_NAMES.index(text[1]) + int(text[0]) - 1
    raise ValueError(f"no such tile: {text!r}")


def parse_tiles(text: str) -> list[int]:
    """Reads a run of tiles such as "123m 55p EEC f3" into kinds, in the order written."""
    kinds: list[int] = []
    digits = ""
    letters = iter(text.replace(" ", ""))
    for letter in letters:
        if letter.isdigit():
            digits += letter
        elif letter in _SUIT_NAMES and digits:
            kinds += [parse(digit + letter) for digit in digits]
            digits = ""
        elif letter == "f":
            kinds.append(parse("f" + next(letters, "")))
        else:
            kinds.append(parse(letter))
    if digits:
        raise ValueError(f"digits without a suit: {text!r}")
    return kinds


def count(kinds: Iterable[int]) -> list[int]:
    """Counts kinds into a list of 34."""
    counts = [0] * NUM_KINDS
    for kind in kinds:
        counts[kind] += 1
    return counts


def is_honor(kind: int) -> bool:
    """Tells whether a kind is a wind or a dragon."""
    return kind >= FIRST_HONOR


def starts_chow(kind: int) -> bool:
    """Tells whether kind, kind + 1, kind + 2 are a run of one suit."""
    return kind < FIRST_HONOR and kind % 9 <= 6
