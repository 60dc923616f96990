"""The 34 kinds of tile: their numbers, names, and how hands are written as text.

Kinds 0-8 are characters 1m-9m (萬), 9-17 dots 1p-9p (筒), 18-26 bamboo 1s-9s (索), 27-30 the
winds E S W N (東南西北), 31-33 the dragons C F P (中發白). A hand string puts the ranks of a suit
before its letter and honours by their own letter, `123m55pESWNCFP`; `1z`-`7z` are accepted for the
honours in that order (`5z` is 中, which riichi tools write `7z`).

Where a wall is meant, kinds 34-41 are the flowers f1-f8: the seasons 春夏秋冬 of E S W N, then the
plants 梅蘭竹菊. No hand ever holds one.

Plain Python on the host: nothing here is traced.
"""

from collections.abc import Iterable, Sequence

NUM_KINDS = 34
NUM_SUITS = 4  # characters, dots, bamboo, honours
NUM_COPIES = 4
NUM_TILES = NUM_KINDS * NUM_COPIES
NONE = -1  # "no tile" wherever a kind is expected

EAST, SOUTH, WEST, NORTH = 27, 28, 29, 30
RED, GREEN, WHITE = 31, 32, 33  # 中 發 白

FIRST_FLOWER, NUM_FLOWERS = NUM_KINDS, 8

HONOURS = "ESWNCFP"
WINDS = HONOURS[:4]
NAMES = tuple(f"{rank}{suit}" for suit in "mps" for rank in range(1, 10)) + tuple(HONOURS)
FLOWERS = tuple(f"f{flower}" for flower in range(1, NUM_FLOWERS + 1))
WALL_NAMES = NAMES + FLOWERS
_GLYPHS = "🀇🀈🀉🀊🀋🀌🀍🀎🀏🀙🀚🀛🀜🀝🀞🀟🀠🀡🀐🀑🀒🀓🀔🀕🀖🀗🀘🀀🀁🀂🀃🀄🀅🀆🀦🀧🀨🀩🀢🀣🀤🀥"
_ALLOWED = "digits 1-9 before m, p or s, digits 1-7 before z, or the letters E S W N C F P"


def parse_kinds(text: str) -> tuple[int, ...]:
    """Reads a hand string as kinds, in the order written.

    Args:
      text: such as `123m55pESWNCFP`; blanks are skipped.

    Returns:
      The kinds, each 0-33.

    Raises:
      ValueError: the string holds something else, or a kind more than four times.
    """
    if not isinstance(text, str):
        raise ValueError(f"A hand is a string such as '123m55pEE', not {type(text).__name__}.")
    kinds: list[int] = []
    ranks: list[int] = []
    for position, letter in enumerate(text):
        if letter.isspace():
            continue
        if letter in "0123456789":
            ranks.append(int(letter))
        elif letter in "mpsz":
            kinds.extend(_suited(ranks, letter, text, position))
            ranks.clear()
        elif letter in HONOURS and not ranks:
            kinds.append(EAST + HONOURS.index(letter))
        else:
            where = f"{letter!r} at position {position} of {text!r}"
            raise ValueError(f"Cannot read {where}: a hand is {_ALLOWED}.")
    if ranks:
        raise ValueError(f"{text!r} ends in digits without a suit: add m, p, s or z.")
    for kind in set(kinds):
        if kinds.count(kind) > NUM_COPIES:
            raise ValueError(f"{text!r} holds {kinds.count(kind)} of {NAMES[kind]}; there are 4.")
    return tuple(kinds)


def parse(text: str) -> tuple[int, ...]:
    """Reads a hand string as the number held of each of the 34 kinds; errors as `parse_kinds`."""
    return counts_of(parse_kinds(text))


def counts_of(kinds: Iterable[int]) -> tuple[int, ...]:
    """Counts how often each of the 34 kinds occurs."""
    counts = [0] * NUM_KINDS
    for kind in kinds:
        counts[kind] += 1
    return tuple(counts)


def format(counts: Sequence[int]) -> str:
    """Writes counts of the 34 kinds as a hand string; the inverse of `parse`.

    Raises:
      ValueError: not 34 counts of 0 to 4.
    """
    counts = list(counts)
    if len(counts) != NUM_KINDS or not all(0 <= count <= NUM_COPIES for count in counts):
        raise ValueError(f"A hand is 34 counts of 0 to 4, got {counts}.")
    text = ""
    for suit, letter in enumerate("mps"):
        ranks = "".join(str(r + 1) * counts[9 * suit + r] for r in range(9))
        text += ranks + letter if ranks else ""
    return text + "".join(HONOURS[i] * counts[EAST + i] for i in range(7))


def glyph(kind: int) -> str:
    """Returns the picture of a kind 0-41, with a text-style selector so that widths agree."""
    return _GLYPHS[kind] + "\ufe0e"


def _suited(ranks: Sequence[int], letter: str, text: str, position: int) -> list[int]:
    """Turns the digits before a suit letter into kinds."""
    highest = 7 if letter == "z" else 9
    if not ranks:
        raise ValueError(f"{letter!r} at position {position} of {text!r} has no digits before it.")
    if not all(1 <= rank <= highest for rank in ranks):
        raise ValueError(f"{text!r}: ranks before {letter!r} are 1 to {highest}, got {ranks}.")
    return [9 * "mpsz".index(letter) + rank - 1 for rank in ranks]
