"""The fifteen ranks: their order, their names, and how hands are written as text.

Ranks 0-12 are 3 4 5 6 7 8 9 T J Q K A 2, four cards of each; 13 and 14 are the black joker B and
the red joker R, one of each. Suits never matter. A hand string is its cards, `3334TTBR`.

Plain Python on the host: nothing here is traced.
"""

from collections.abc import Sequence

RANKS = "3456789TJQKA2BR"
NUM_RANKS = len(RANKS)
COPIES = (4,) * 13 + (1, 1)
NUM_CARDS = sum(COPIES)

ACE, TWO, BLACK_JOKER, RED_JOKER = 11, 12, 13, 14


def parse(text: str) -> tuple[int, ...]:
    """Reads a hand string as the number held of each of the 15 ranks.

    Args:
      text: such as `3334TTBR`, in any order; blanks are skipped.

    Returns:
      15 counts.

    Raises:
      ValueError: the string holds something else, or a rank more often than there are cards.
    """
    if not isinstance(text, str):
        raise ValueError(f"A hand is a string such as '3334TTBR', not {type(text).__name__}.")
    counts = [0] * NUM_RANKS
    for position, letter in enumerate(text):
        if letter.isspace():
            continue
        if letter not in RANKS:
            where = f"{letter!r} at position {position} of {text!r}"
            raise ValueError(f"Cannot read {where}: a card is one of {' '.join(RANKS)}.")
        counts[RANKS.index(letter)] += 1
    for name, count, copies in zip(RANKS, counts, COPIES, strict=True):
        if count > copies:
            there = "there is 1" if copies == 1 else f"there are {copies}"
            raise ValueError(f"{text!r} holds {count} of {name}; {there}.")
    return tuple(counts)


def format(counts: Sequence[int]) -> str:
    """Writes counts of the 15 ranks as a hand string in rank order; the inverse of `parse`.

    Raises:
      ValueError: not 15 counts of 0 to 4, or of 0 to 1 for a joker.
    """
    counts = [int(count) for count in counts]
    if len(counts) != NUM_RANKS or not all(
        0 <= count <= copies for count, copies in zip(counts, COPIES, strict=True)
    ):
        raise ValueError(f"A hand is 13 counts of 0 to 4 and 2 of 0 to 1, not {counts}.")
    return "".join(name * count for name, count in zip(RANKS, counts, strict=True))
