"""A won hand described in text or as a case of `tests/cases`, checked and scored.

    23m 456p 789s EEE 55m chi:[1m2m3m] win:4m self_draw seat:S round:E

Melds are `chow:`, `pong:`, `kong:` (open or added) and `ankong:` (concealed), also under the
names of the case files. Everything else is a word, `name:value`, or a field of `Rules` as
`name=value`. Plain Python on the host but for `score_all`. B = hands.
"""

import dataclasses
import difflib
import functools
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from mjx import score, tables, tiles
from mjx import state as st
from mjx.events import FLOWERS, WINDS, dealers_items
from mjx.rules import DEFAULT, PRESETS, Rules
from mjx.score.payments import ALL_PAY
from mjx.tiles import NAMES, NUM_COPIES, NUM_KINDS

Array = jax.Array

WIN_BY = ("self_draw", "discard", "rob_kong")
FLAGS = (
    *("discarder_is_dealer", "last_tile", "after_kong", "after_open_kong"),
    *("heavenly", "earthly", "human", "tianting", "diting"),
)
_FORMS = {"chow": ("chow", "chi", "吃"), "pong": ("pong", "pon", "碰"), "kong": ("kong", "槓")}
_FORMS["ankong"] = ("ankong", "concealed_kong", "暗槓")
_FORM_OF = {name: form for form, names in _FORMS.items() for name in names}
_SETS = {"pong": st.PONG, "kong": st.KONG, "ankong": st.CONCEALED_KONG}
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
_FIRST = ("heavenly", "earthly", "human")


@dataclass(frozen=True)
class WonHand:
    """A won hand and how it was won."""

    concealed: tuple[int, ...]  # kinds, without the winning tile
    melds: tuple[tuple[str, int], ...]  # chow, pong, kong or ankong, and its lowest kind
    win_tile: int
    win_by: str = "discard"
    seat_wind: int = 1  # 0-3 for E S W N
    round_wind: int = 0
    is_dealer: bool = False
    streak: int = 0
    flags: frozenset[str] = frozenset()
    flowers: tuple[int, ...] = ()  # 1-8


class Scored(NamedTuple):
    """What a hand is worth."""

    tai: dict[str, int]  # with the dealer's items if the winner or the one payer deals
    total: int
    due: tuple[int, ...]  # points that each other seat pays, the dealer first if it pays


def parse_text(text: str) -> tuple[WonHand, Rules]:
    """Reads a hand and the rules that it is scored by.

    Raises:
      ValueError: what cannot be read, and what could be written there.
    """
    text = re.sub(r"\s*([:=])\s*", r"\1", text.replace("：", ":"))
    kinds: list[int] = []
    melds: list[tuple[str, int]] = []
    said: dict[str, str] = {}
    words: set[str] = set()
    options: dict[str, Any] = {}
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
            field, _, value = token.partition("=")
            options[field] = _option(field, value)
        elif word in (*WIN_BY, *FLAGS, "dealer"):
            words.add(word)
        else:
            kinds += _tiles(token)
    rules = _preset(said.get("rules"), options)
    return _from_words(kinds, melds, said, words, rules), rules


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
    rules = _make_rules(case.get("options", {}))
    _one_of("win_by", case["win_by"], WIN_BY)
    for flag in case.get("flags", []):
        _one_of("flags", flag, FLAGS)
    if case.get("dealer_streak", 0) < 0:
        raise ValueError(f"`dealer_streak` is 0 or more, not {case['dealer_streak']}")
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
    return hand, rules


_TEXTS = (list, "a list")
_NEEDED: dict[str, tuple[type, str]] = {
    **{"concealed": _TEXTS, "win_tile": (str, "a tile"), "win_by": (str, "a text")},
    **{"seat_wind": (str, "a wind"), "round_wind": (str, "a wind")},
}
_DEFAULTED: dict[str, tuple[type, str]] = {
    **{"melds": _TEXTS, "flags": _TEXTS, "flowers": _TEXTS, "dealer": (bool, "true or false")},
    **{"dealer_streak": (int, "a whole number"), "options": (dict, "an object")},
}


# Reading.


def _from_words(
    kinds: list[int],
    melds: list[tuple[str, int]],
    said: dict[str, str],
    words: set[str],
    rules: Rules,
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
    by_wind = rules.seat_wind_mode == "dealer_east"
    seat = _wind("seat:", said["seat"]) if "seat" in said else None
    is_dealer = "dealer" in words or "heavenly" in flags or (by_wind and seat == 0)
    streak = said.get("streak", "0")
    if not re.fullmatch(r"[0-9]{1,6}", streak):
        raise ValueError(f"streak: is a whole number, 0 or more, not {streak!r}.")
    if len(kinds) == _num_concealed(len(melds), rules) + 1 and win_tile in kinds:
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
        if name not in FLOWERS:
            raise ValueError(f"flowers are f1 to f8, not {name!r}.")
    if len(set(names)) < len(names):
        raise ValueError("there is one of each flower.")
    return tuple(FLOWERS.index(name) + 1 for name in names)


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


def _option(field: str, text: str) -> Any:
    """Reads the value of a field of the rules; whether it is allowed is for the rules to say."""
    known = {"true": True, "false": False, "none": None}
    if text.lower() in known:
        return known[text.lower()]
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else text


def _preset(name: str | None, options: dict[str, Any]) -> Rules:
    """Makes the rules of a preset with some fields changed."""
    if name is not None and name not in PRESETS:
        raise ValueError(_no_such(name, tuple(PRESETS), False))
    return _make_rules(options, PRESETS[name] if name else DEFAULT)


def _make_rules(options: dict[str, Any], rules: Rules = DEFAULT) -> Rules:
    """Changes fields of rules, and refuses what there is not."""
    fields = [field.name for field in dataclasses.fields(Rules)]
    for name in options:
        if name not in fields:
            near = difflib.get_close_matches(name, fields, n=1, cutoff=0.0)[0]
            raise ValueError(f"There is no option {name!r} of the rules; did you mean {near!r}?")
    try:
        return dataclasses.replace(rules, **options)
    except NotImplementedError as error:
        raise ValueError(str(error)) from None


# Checking.


def check(hand: WonHand, rules: Rules) -> None:
    """Refuses what cannot be a won hand.

    Raises:
      ValueError: the reason.
    """
    held = _all_tiles(hand)
    with_win = held.copy()
    with_win[hand.win_tile] += 1
    if len(hand.melds) > rules.num_sets:
        raise ValueError(f"{len(hand.melds)} melds; a hand has {rules.num_sets} at most.")
    wanted = _num_concealed(len(hand.melds), rules)
    if len(hand.concealed) != wanted:
        raise ValueError(
            f"{len(hand.concealed)} concealed tiles beside {len(hand.melds)} melds; {wanted} are "
            "expected, the winning tile not among them."
        )
    for kind in np.flatnonzero(with_win > NUM_COPIES):
        raise ValueError(f"{with_win[kind]} of {NAMES[kind]}; there are {NUM_COPIES}.")
    _check_situation(hand, rules)
    _check_first(hand)
    _check_ready(hand, rules)
    if special_ending(hand, rules):
        if hand.win_by != "self_draw":
            raise ValueError("Four kongs, and eight flowers, win at once: the win is self_draw.")
    elif not _is_complete(_counts(hand.concealed + (hand.win_tile,)), hand.melds, rules):
        raise ValueError(_no_win(hand, held, rules))


def special_ending(hand: WonHand, rules: Rules) -> int:
    """Tells by which win that needs no complete hand this one was won: an ending, or 0."""
    num_kongs = sum(form in ("kong", "ankong") for form, _ in hand.melds)
    if rules.sigangpai and num_kongs == 4:
        return st.FOUR_KONGS
    return st.EIGHT_FLOWERS if rules.baxian and len(hand.flowers) == 8 else 0


def _num_concealed(num_melds: int, rules: Rules) -> int:
    """Counts the concealed tiles of a hand at rest."""
    return rules.hand_tiles - 3 * num_melds


def _counts(kinds: Sequence[int]) -> np.ndarray:
    """Counts kinds: int[34]."""
    return np.bincount(np.array(kinds, np.int64), minlength=NUM_KINDS)


def _all_tiles(hand: WonHand) -> np.ndarray:
    """Counts the tiles of hand and melds, without the winning one: int[34]."""
    kinds = list(hand.concealed)
    for form, kind in hand.melds:
        run = form == "chow"
        kinds += [kind, kind + 1, kind + 2] if run else [kind] * (3 if form == "pong" else 4)
    return _counts(kinds)


def _check_situation(hand: WonHand, rules: Rules) -> None:
    """Refuses ways to win that cannot be."""
    flags, is_drawn = hand.flags, hand.win_by == "self_draw"
    held = int(_all_tiles(hand)[hand.win_tile])
    forms = {form for form, _ in hand.melds}
    if hand.flowers and not rules.n_flowers:
        raise ValueError("Flowers need rules with n_flowers=8.")
    if rules.seat_wind_mode == "dealer_east" and hand.is_dealer != (hand.seat_wind == 0):
        raise ValueError("The dealer sits East, and nobody else does (seat_wind_mode=dealer_east).")
    if hand.win_by == "rob_kong" and held:
        raise ValueError(
            f"A robbed kong shows all four {NAMES[hand.win_tile]}; this hand holds {held} of it."
        )
    if hand.win_by == "rob_kong" and "last_tile" in flags:
        raise ValueError("No kong is declared once the last tile is drawn: none can be robbed.")
    if "discarder_is_dealer" in flags and (is_drawn or hand.is_dealer):
        who = "a self-draw has no discarder" if is_drawn else "the winner is the dealer"
        raise ValueError(f"discarder_is_dealer: {who}.")
    if flags & {"after_kong", "after_open_kong"}:
        if not is_drawn:
            raise ValueError("A tile drawn after a kong is won with by self_draw.")
        if not forms & {"kong", "ankong"} and not hand.flowers:
            raise ValueError("after_kong: the hand has neither a kong nor a flower.")
    if "after_open_kong" in flags:
        if "kong" not in forms:
            raise ValueError("after_open_kong: the hand has no open kong.")
        if not rules.open_kong_win:
            raise ValueError("after_open_kong: no win in the turn of an open kong (open_kong_win).")


def _check_first(hand: WonHand) -> None:
    """Refuses wins of the first go-around that cannot be."""
    first = [flag for flag in _FIRST if flag in hand.flags]
    if not first:
        return
    if len(first) > 1:
        raise ValueError(f"A hand is not {' and '.join(first)} at once.")
    ways = {"heavenly": "self_draw", "earthly": "self_draw", "human": "discard"}
    if hand.win_by != ways[first[0]]:
        raise ValueError(f"{first[0]}: won by {ways[first[0]]}, not by {hand.win_by}.")
    if (first[0] == "heavenly") != hand.is_dealer:
        raise ValueError(f"{first[0]}: {'only' if first[0] == 'heavenly' else 'not'} the dealer.")
    if hand.melds:
        raise ValueError(f"{first[0]}: nobody has melded yet, but this hand has melds.")
    if "last_tile" in hand.flags:
        raise ValueError(f"{first[0]}: the first go-around does not draw the last tile.")


def _check_ready(hand: WonHand, rules: Rules) -> None:
    """Refuses declarations that cannot be."""
    declared = [flag for flag in ("tianting", "diting") if flag in hand.flags]
    if len(declared) > 1:
        raise ValueError("A hand is declared ready once: tianting or diting.")
    for flag in declared:
        if not getattr(rules, flag):
            raise ValueError(f"{flag}: these rules do not know it ({flag}=0).")
        if any(form != "ankong" for form, _ in hand.melds):
            raise ValueError(f"{flag}: a hand declared ready claims nothing, but this one has.")
        if "heavenly" in hand.flags or (flag == "tianting" and hand.is_dealer):
            raise ValueError(f"{flag}: the dealer is not asked at the deal.")
        if flag == "diting" and hand.flags & set(_FIRST):
            raise ValueError("diting: declared with the first discard, after such a win.")


def _is_complete(counts: np.ndarray, melds: Sequence[Any], rules: Rules) -> bool:
    """Tells whether concealed tiles are sets and a pair, or seven pairs and a triplet."""
    codes = [
        int(sum(int(n) * 5**rank for rank, n in enumerate(counts[9 * suit : 9 * suit + 9])))
        for suit in range(tiles.NUM_SUITS)
    ]
    codes[-1] += tables.HONOUR_OFFSET
    entries = [int(entry) for entry in tables.wins()[codes]]
    bare = sum(entry >> tables.COMPLETE & 1 for entry in entries)
    paired = sum(entry >> tables.COMPLETE_WITH_PAIR & 1 for entry in entries)
    odd = counts[counts % 2 == 1]
    is_ligu = bool(rules.ligu) and not melds and odd.tolist() == [3] and counts.sum() == 17
    return (bare == 3 and paired == 1) or is_ligu


def _no_win(hand: WonHand, held: np.ndarray, rules: Rules) -> str:
    """Says what a hand that is not complete waits for."""
    waits = [
        NAMES[kind]
        for kind in range(NUM_KINDS)
        if held[kind] < NUM_COPIES
        and _is_complete(_counts((*hand.concealed, kind)), hand.melds, rules)
    ]
    waiting = f"it waits for {' '.join(waits)}" if waits else "it waits for nothing"
    return f"Not a winning hand with {NAMES[hand.win_tile]}: {waiting}."


# Scoring.


def score_all(hands: Sequence[tuple[WonHand, Rules]]) -> list[Scored | ValueError]:
    """Scores checked hands, those of the same rules together.

    Returns:
      For each hand what it is worth, or why it may not be won.
    """
    by_rules: dict[Rules, list[int]] = defaultdict(list)
    for place, (_, rules) in enumerate(hands):
        by_rules[rules].append(place)
    found: dict[int, Scored | ValueError] = {}
    for rules, places in by_rules.items():
        group = [hands[place][0] for place in places]
        size = max(16, 1 << (len(group) - 1).bit_length())  # few sizes, few programs
        columns = _columns(group + group[-1:] * (size - len(group)), rules)
        rows = jax.device_get(_score(columns, rules=rules))
        for lane, place in enumerate(places):
            found[place] = _scored(group[lane], *(part[lane] for part in rows), rules)
    return [found[place] for place in range(len(hands))]


# Compiling is nearly all the time that it takes, so it is kept short.
@functools.partial(
    jax.jit, static_argnames="rules", compiler_options={"xla_backend_optimization_level": 0}
)
def _score(columns: dict[str, Any], rules: Rules) -> tuple[Array, Array, Array]:
    """Scores B hands: int[B, items] tai, int32[B] totals, int32[B, 4] points by seat."""

    def one(row: dict[str, Any]) -> tuple[Array, Array, Array]:
        total = score.total(row["win"], rules)
        seats = (row["winner"], row["payer"], row["dealer"], row["streak"])
        return score.tai(row["win"], rules), total, score.payments(total, *seats, rules)

    return jax.vmap(one)(columns)


def _columns(hands: Sequence[WonHand], rules: Rules) -> dict[str, Any]:
    """Lays hands out as arrays [B, ...]: the win, and seats that it is paid between."""

    def column(value: Callable[[WonHand], Any], dtype: type) -> np.ndarray:
        return np.array([value(hand) for hand in hands], dtype)

    def words(value: Callable[[WonHand], np.ndarray]) -> np.ndarray:
        rows = np.array([value(hand) for hand in hands], np.uint32)
        rows = np.pad(rows, ((0, 0), (0, 2))).reshape(-1, tiles.NUM_SUITS, 9)
        return (rows << np.arange(0, 27, 3, dtype=np.uint32)).sum(axis=-1, dtype=np.uint32)

    fields: dict[str, Any] = {
        "hand": words(lambda hand: _counts(hand.concealed)),
        "chows": words(lambda hand: _counts([k for form, k in hand.melds if form == "chow"])),
        "sets": words(_sets),
        "kind": column(lambda hand: hand.win_tile, np.int32),
        "self_draw": column(lambda hand: hand.win_by == "self_draw", bool),
        "robbed_kong": column(lambda hand: hand.win_by == "rob_kong", bool),
        "replacement": column(_replacement, np.int32),
        "seat_wind": column(lambda hand: hand.seat_wind, np.int32),
        "round_wind": column(lambda hand: hand.round_wind, np.int32),
    }
    for flag in ("last_tile", *_FIRST):
        fields[flag] = column(lambda hand, flag=flag: flag in hand.flags, bool)
    if rules.asks_ready:
        ready = {"tianting": 1, "diting": 2}
        fields["ready"] = column(lambda h: sum(ready.get(f, 0) for f in h.flags), np.int32)
    if rules.n_flowers:
        fields["flowers"] = column(lambda h: sum(1 << f - 1 for f in h.flowers), np.uint32)
    if rules.sigangpai or (rules.n_flowers and (rules.baxian or rules.qiqiangyi)):
        fields["special"] = column(lambda hand: special_ending(hand, rules), np.int32)
    return {
        "win": score.Win(**fields),
        # Seats are counted from the dealer; who else wins or pays does not matter.
        "dealer": column(lambda hand: 0, np.int32),
        "winner": column(lambda hand: 0 if hand.is_dealer else 1, np.int32),
        "payer": column(_payer, np.int32),
        "streak": column(lambda hand: hand.streak, np.int32),
    }


def _sets(hand: WonHand) -> np.ndarray:
    """Lays pongs and kongs out by kind: int[34]."""
    row = np.zeros(NUM_KINDS, np.int64)
    for form, kind in hand.melds:
        row[kind] += _SETS.get(form, 0)
    return row


def _replacement(hand: WonHand) -> int:
    """Tells what kind of draw the winning tile was."""
    if "after_open_kong" in hand.flags:
        return st.AFTER_OPEN_KONG
    has_kong = any(form != "chow" and form != "pong" for form, _ in hand.melds)
    if "after_kong" in hand.flags:
        return st.AFTER_OWN_KONG if has_kong else st.AFTER_FLOWER
    return st.PLAIN_DRAW


def _payer(hand: WonHand) -> int:
    """Seats the one who pays, counted from the dealer."""
    if hand.win_by == "self_draw":
        return ALL_PAY
    return 0 if "discarder_is_dealer" in hand.flags else 2


def _scored(
    hand: WonHand, tai: np.ndarray, total: np.ndarray, points: np.ndarray, rules: Rules
) -> Scored | ValueError:
    """Names what a hand is worth, the dealer's items first."""
    if total < rules.min_tai:
        return ValueError(f"{total} tai; these rules ask for {rules.min_tai} at least.")
    is_dealer_in = hand.is_dealer or "discarder_is_dealer" in hand.flags
    items = dealers_items(is_dealer_in, hand.streak, rules)
    counted = {item: int(n) for item, n in zip(score.ITEMS, tai.tolist(), strict=True) if n}
    return Scored(
        items | counted,
        int(total) + sum(items.values()),
        tuple(-int(n) for n in points if n < 0),
    )
