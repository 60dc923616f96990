"""The case files: won hands and facts about waits, shapes and payments."""

import json
from pathlib import Path
from typing import Any

from tests.oracle.rules import Rules
from tests.oracle.score import Meld, WonHand
from tests.oracle.tiles import count, parse, parse_tiles

CASES = Path(__file__).resolve().parents[1] / "cases"
_FORMS = {"chi": "chow", "pon": "pong", "kong": "kong", "ankong": "ankong"}


def load(name: str, kind: str | None = None) -> list[dict[str, Any]]:
    """Reads one of the case files.

    Args:
      name: "hands" or "facts".
      kind: of facts only those of this kind.

    Returns:
      The cases, as they are written.
    """
    text = (CASES / f"tw16_{name}.jsonl").read_text(encoding="utf-8")
    cases = [json.loads(line) for line in text.splitlines()]
    return [case for case in cases if kind in (None, case.get("kind"))]


def rules_of(case: dict[str, Any]) -> Rules:
    """Gives the options of a case."""
    return Rules(**case.get("options", {}))


def counts_of(case: dict[str, Any]) -> list[int]:
    """Counts the concealed tiles of a case."""
    return count(parse(tile) for tile in case["concealed"])


def melds_of(case: dict[str, Any]) -> tuple[Meld, ...]:
    """Reads melds such as "chi:[1m2m3m]" or "pon:[EEE]"."""
    melds = []
    for text in case["melds"]:
        form, tiles = text.rstrip("]").split(":[")
        melds.append((_FORMS[form], min(parse_tiles(tiles))))
    return tuple(melds)


def won_hand_of(case: dict[str, Any]) -> WonHand:
    """Builds the won hand of a case."""
    situations = ("last_tile", "after_kong", "after_open_kong", "heavenly", "earthly", "human")
    return WonHand(
        concealed=tuple(counts_of(case)),
        melds=melds_of(case),
        win_tile=parse(case["win_tile"]),
        win_by=case["win_by"],
        seat_wind="ESWN".index(case["seat_wind"]),
        round_wind="ESWN".index(case["round_wind"]),
        flowers=tuple(int(flower[1]) for flower in case["flowers"]),
        **{flag: flag in case["flags"] for flag in situations},
    )
