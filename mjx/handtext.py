"""Won hands as text, and as cases of `tests/cases`.

    23m 456p 789s EEE 55m chi:[1m2m3m] win:4m self_draw seat:S round:E

Melds are `chow:`, `pong:`, `kong:` (open or added) and `ankong:` (concealed), also under the
names of the case files. Everything else is a word, `name:value`, or a field of `Rules` as
`name=value`. Plain Python on the host.
"""

import dataclasses
import difflib
import re
from collections.abc import Sequence
from typing import Any

from mjx import rules, tiles
from mjx.rules import Rules
from mjx.tiles import WINDS
from mjx.wonhand import FLAGS, WIN_BY, WonHand, num_concealed

_FORMS = {"chow": ("chow", "chi", "吃"), "pong": ("pong", "pon", "碰"), "kong": ("kong", "槓")}
_FORMS["ankong"] = ("ankong", "concealed_kong", "暗槓")
_FORM_OF = {name: form for form, names in _FORMS.items() for name in names}
# Other names of the words.
_SAME = {
    **dict.fromkeys(("zimo", "tsumo", "自摸"), "self_draw"),
    **dict.fromkeys(("ron", "胡"), "discard"),
    **dict.fromkeys(("rob", "robbed_kong", "搶槓"), "rob_kong"),
    **{"from_dealer": "discarder_is_dealer", "莊家": "dealer", "tianhu": "heavenly"},
    **{"dihu": "earthly", "renhu": "human", "天胡": "heavenly", "地胡": "earthly", "人胡": "human"},
    **{"天聽": "tianting", "地聽": "diting", "last": "last_tile", "haidi": "last_tile"},
    "gangkai": "after_kong",
}
_VALUES = ("win", "seat", "round", "streak", "flowers", "rules", "by")
_TEXTS = (list, "a list")
_NEEDED: dict[str, tuple[type, str]] = {
    **{"concealed": _TEXTS, "win_tile": (str, "a tile"), "win_by": (str, "a text")},
    **{"seat_wind": (str, "a wind"), "round_wind": (str, "a wind")},
}
_DEFAULTED: dict[str, tuple[type, str]] = {
    **{"melds": _TEXTS, "flags": _TEXTS, "flowers": _TEXTS, "dealer": (bool, "true or false")},
    **{"dealer_streak": (int, "a whole number"), "options": (dict, "an object")},
}


def parse_text(text: str) -> tuple[WonHand, Rules]:
    """Reads a hand and the rules that it is scored by.

    Raises:
      ValueError: what cannot be read, and what could be written there.
    """
    text = re.sub(r"\s*([:=])\s*", r"\1", text.replace("：", ":"))
    text = re.sub(r"\s*,\s*", ",", text)
    kinds: list[int] = []
    melds: list[tuple[str, int]] = []
    said: dict[str, str] = {}
    words: set[str] = set()
    options: list[str] = []
    for token in re.findall(r"[^\s:=]+:\[[^\]]*\]?|[^\s,]+(?:,[^\s,]+)*", text):
        name, colon, value = token.partition(":")
        word = _word(token)
        if colon and _word(name) in _FORM_OF:
            melds.append(_meld(_FORM_OF[_word(name)], value, token))
        elif colon:
            name = _word(name)
            if name not in _VALUES or name in said:
                raise ValueError(
                    _no_such(f"{name}:", [f"{v}:" for v in (*_VALUES, *_FORM_OF)], name in said)
                )
            said[name] = value
        elif "=" in token:
            options.append(token)
        elif word in (*WIN_BY, *FLAGS, "dealer"):
            words.add(word)
        else:
            kinds += [kind for part in token.split(",") for kind in _tiles(part)]
    table = _table(said, options)
    return _from_words(kinds, melds, said, words, table), table


def parse_case(case: dict[str, Any]) -> tuple[WonHand, Rules]:
    """Reads a hand in the form of the case files, and the rules that it is scored by.

    Raises:
      ValueError: what is missing or wrong.
    """
    missing = [key for key in _NEEDED if key not in case]
    if missing:
        raise ValueError(f"`{missing[0]}` is missing")
    for key, (kind, words) in (_NEEDED | _DEFAULTED).items():
        if key in case and type(case[key]) is not kind:
            raise ValueError(f"`{key}` is {words}, not {case[key]!r}")
    for key in ("concealed", "melds", "flags", "flowers"):
        for value in case.get(key, []):
            if type(value) is not str:
                raise ValueError(f"`{key}` holds texts, not {value!r}")
    table = _make_rules(case.get("options", {}))
    _one_of("win_by", case["win_by"], WIN_BY)
    for flag in case.get("flags", []):
        _one_of("flags", flag, FLAGS)
    if not 0 <= case.get("dealer_streak", 0) <= 1_000:
        raise ValueError(f"`dealer_streak` is 0 or more, 1000 at most, not {case['dealer_streak']}")
    melds = []
    for text in case.get("melds", []):
        name, _, value = text.partition(":")
        _one_of("melds", _word(name), tuple(_FORM_OF))
        melds.append(_meld(_FORM_OF[_word(name)], value, text))
    hand = WonHand(
        concealed=tuple(_tile(tile) for tile in case["concealed"]),
        melds=tuple(melds),
        win_tile=_tile(case["win_tile"]),
        win_by=case["win_by"],
        seat_wind=_wind("seat_wind", case["seat_wind"]),
        round_wind=_wind("round_wind", case["round_wind"]),
        is_dealer=case.get("dealer", False),
        streak=case.get("dealer_streak", 0),
        flags=frozenset(case.get("flags", [])),
        flowers=_flowers(case.get("flowers", [])),
    )
    return hand, table


def _from_words(
    kinds: list[int],
    melds: list[tuple[str, int]],
    said: dict[str, str],
    words: set[str],
    table: Rules,
) -> WonHand:
    """Puts a hand together from what was said, and fills in what follows from it."""
    if "win" not in said:
        raise ValueError("Say which tile won, such as win:4m.")
    win_tile = _tile(said["win"])
    ways = [way for way in WIN_BY if way in words]
    if "by" in said:
        _one_of("by:", _word(said["by"]), WIN_BY)
        ways = sorted({*ways, _word(said["by"])})
    if len(ways) > 1:
        raise ValueError(f"A hand is won in one way, not by {' and '.join(ways)}.")
    flags = words & set(FLAGS)
    is_drawn = flags & {"heavenly", "earthly", "after_kong", "after_open_kong"}
    by_wind = table.seat_wind_mode == "dealer_east"
    seat = _wind("seat:", said["seat"]) if "seat" in said else None
    is_dealer = "dealer" in words or "heavenly" in flags or (by_wind and seat == 0)
    streak = said.get("streak", "0")
    if not re.fullmatch(r"[0-9]{1,4}", streak) or int(streak) > 1000:
        raise ValueError(f"streak: is a whole number, 0 to 1000, not {streak!r}.")
    if len(kinds) == num_concealed(len(melds), table) + 1 and win_tile in kinds:
        kinds.remove(win_tile)  # the winning tile was written among the others
    return WonHand(
        concealed=tuple(kinds),
        melds=tuple(melds),
        win_tile=win_tile,
        win_by=ways[0] if ways else "self_draw" if is_drawn else "discard",
        seat_wind=seat if seat is not None else 0 if is_dealer and by_wind else 1,
        round_wind=_wind("round:", said.get("round", "E")),
        is_dealer=is_dealer,
        streak=int(streak),
        flags=frozenset(flags),
        flowers=_flowers(re.split(r"[,+]", said["flowers"]) if said.get("flowers") else []),
    )


def _word(text: str) -> str:
    """Brings a word into the one form that is looked up."""
    word = text.lower().replace("-", "_")
    return _SAME.get(word, word)


def _tiles(token: str) -> tuple[int, ...]:
    """Reads a hand string, or says what the token could have been."""
    try:
        return tiles.parse_kinds(token)
    except ValueError as error:
        near = difflib.get_close_matches(_word(token), (*WIN_BY, *FLAGS, "dealer"), n=1)
        raise ValueError(f"{error} Or did you mean {near[0]!r}?" if near else str(error)) from None


def _tile(text: str) -> int:
    """Reads one tile."""
    try:
        kinds = tiles.parse_kinds(text)
    except ValueError:
        kinds = ()
    if len(kinds) != 1:
        raise ValueError(f"{text!r} is not one tile, such as 4m, 9s or E.")
    return kinds[0]


def _meld(form: str, text: str, token: str) -> tuple[str, int]:
    """Reads the tiles of a meld; of a pong or kong one is enough."""
    try:
        kinds = sorted(tiles.parse_kinds(text.removeprefix("[").removesuffix("]")))
    except ValueError as error:
        raise ValueError(f"{token!r}: {error}") from None
    if form == "chow":
        low = kinds[0] if kinds else -1
        is_run = kinds == [low, low + 1, low + 2] and low < tiles.EAST and low % 9 <= 6
        if not is_run:
            raise ValueError(f"{token!r} is no chow: three tiles of a suit in a row.")
    elif len(set(kinds)) != 1 or len(kinds) not in (1, 3 if form == "pong" else 4):
        raise ValueError(f"{token!r} is no {form}: {3 if form == 'pong' else 4} equal tiles.")
    return form, kinds[0]


def _wind(where: str, text: str) -> int:
    """Reads a wind."""
    if len(text) != 1 or text.upper() not in WINDS:
        raise ValueError(f"{where} is a wind, E S W or N, not {text!r}.")
    return WINDS.index(text.upper())


def _flowers(names: Sequence[str]) -> tuple[int, ...]:
    """Reads flowers."""
    for name in names:
        if name not in tiles.FLOWERS:
            raise ValueError(f"flowers are f1 to f8, not {name!r}.")
    if len(set(names)) < len(names):
        raise ValueError("there is one of each flower.")
    return tuple(tiles.FLOWERS.index(name) + 1 for name in names)


def _one_of(where: str, value: str, allowed: Sequence[str]) -> None:
    """Refuses a value that is not allowed."""
    if value not in allowed:
        raise ValueError(f"{where} is one of {', '.join(allowed)}, not {value!r}.")


def _no_such(given: str, allowed: Sequence[str], is_double: bool) -> str:
    """Words the refusal of a name, with the nearest one."""
    if is_double:
        return f"{given!r} comes twice."
    near = difflib.get_close_matches(given, allowed, n=1, cutoff=0.0)
    return f"There is no {given!r}; did you mean {near[0]!r}? Known: {', '.join(allowed)}."


def _table(said: dict[str, str], options: Sequence[str]) -> Rules:
    """Reads the rules; whoever names flowers plays with them."""
    table = rules.parse(",".join([*filter(None, [said.get("rules")]), *options]))
    if said.get("flowers") and not any(one.startswith("n_flowers=") for one in options):
        table = dataclasses.replace(table, n_flowers=8)
    return table


def _make_rules(options: dict[str, Any]) -> Rules:
    """Makes the rules of a case."""
    fields = [field.name for field in dataclasses.fields(Rules)]
    for name in options:
        if name not in fields:
            near = difflib.get_close_matches(name, fields, n=1, cutoff=0.0)[0]
            raise ValueError(f"There is no option {name!r} of the rules; did you mean {near!r}?")
    return Rules(**options)
