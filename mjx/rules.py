"""The rules of one table: a frozen, hashable value, static under jit.

Every field is named in `docs/rules.md`. A tai of 0 removes the item: nothing is replaced or
excluded by it.
"""

import dataclasses
import difflib
from dataclasses import dataclass
from typing import Any

from mjx.tiles import NUM_TILES


@dataclass(frozen=True)
class Rules:
    """House rules; the defaults are the tai table of 2009-12-26 (atawmj.org.tw).

    Raises:
      ValueError: a value outside its field's range.
    """

    hand_tiles: int = 16  # 13 plays four sets and a pair
    n_flowers: int = 0
    reserve: int = 16  # 鐵八墩: the hand is drawn when this many tiles are left
    reserve_per_kong: int = 0  # further tiles kept for each kong
    concealed_kong_shown: bool = True
    seat_wind_mode: str = "dealer_east"
    hand_mode: str = "single"
    base: int = 1000  # points of a win
    unit: int = 500  # points a tai
    min_tai: int = 0
    tai_cap: int | None = None
    streak_cap: int | None = None  # caps the counted streak only
    wall_mode: str = "shared"
    multi_ron: bool = False
    guoshui: str = "strict"
    swap_calling: str = "none"
    forbid_upstream_kong: bool = False
    open_kong_win: bool = True
    open_kong_gangkai: bool = False
    tail_no_calls: int = 0
    ziyise: int = 8
    ziyise_excludes_pengpeng: bool = False
    xiaosixi_excludes_winds: bool = False
    quanqiu: int = 2
    quanqiu_excludes_duting: bool = False
    banqiu: int = 1
    hedi: int = 1
    haidi_stacks_gangkai: bool = False
    menqing_zimo: int = 3
    pinghu_with_menqing: bool = True
    pinghu_on_rob_kong: bool = True
    tianhu: int = 16
    dihu: int = 16
    renhu: int = 16
    tianting: int = 0
    diting: int = 0
    ligu: int = 0
    sigangpai: int = 0
    flower: int = 1
    flower_kong: int = 2
    flower_kong_excludes_own: bool = False
    baxian: int = 8
    qiqiangyi: int = 8

    @property
    def num_sets(self) -> int:
        """Sets of a complete hand, beside its pair: 5, or 4 with 13 tiles."""
        return (self.hand_tiles - 1) // 3

    @property
    def num_tiles(self) -> int:
        """Tiles of the wall before the deal, flowers included."""
        return NUM_TILES + self.n_flowers

    @property
    def num_dealt(self) -> int:
        """Tiles dealt: `hand_tiles` a seat, and the dealer's last one."""
        return 4 * self.hand_tiles + 1

    @property
    def sub_wall_size(self) -> int:
        """Tiles of each seat's own part of the wall with `stable_draw`; up to three lie idle."""
        return (self.num_tiles - self.num_dealt) // 4

    @property
    def max_discards(self) -> int:
        """Most discards of a hand: the dealer's first, one a draw, one a call but for kongs."""
        return 1 + NUM_TILES - self.num_dealt + 4 * self.num_sets

    @property
    def asks_ready(self) -> bool:
        """Whether seats are asked to declare themselves ready (報聽)."""
        return self.tianting > 0 or self.diting > 0

    def __post_init__(self) -> None:
        """Refuses values that are out of range."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            _check(field.name, value, field.default)


_CHOICES = {
    "hand_tiles": (16, 13),
    "n_flowers": (0, 8),
    "seat_wind_mode": ("dealer_east", "wall_break"),
    "hand_mode": ("single", "match"),
    "wall_mode": ("shared", "stable_draw"),
    "guoshui": ("strict", "until_discard", "ron_only", "off"),
    "swap_calling": ("none", "same", "same_and_suji"),
}
_MAY_BE_NONE = ("tai_cap", "streak_cap")
# All tiles left after a deal of 16, with flowers once these are replaced; 13 leave more. Payments
# stay exact in float32.
_HIGHEST = {"reserve": 71, "base": 100_000, "unit": 100_000}


def _check(name: str, value: object, default: object) -> None:
    """Refuses a value that no table can mean."""
    if name in _CHOICES:
        if type(value) is not type(default) or value not in _CHOICES[name]:
            raise ValueError(f"Rules.{name} is one of {_CHOICES[name]}, not {value!r}.")
    elif isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"Rules.{name} is True or False, not {value!r}.")
    elif value is None and name in _MAY_BE_NONE:
        return
    else:
        highest = _HIGHEST.get(name, 100)
        is_int = isinstance(value, int) and not isinstance(value, bool)
        if not is_int or not 0 <= value <= highest:
            raise ValueError(f"Rules.{name} is a whole number from 0 to {highest}, not {value!r}.")


DEFAULT = Rules()
PRESETS = {
    "AT": DEFAULT,
    "star31": Rules(ziyise=0, quanqiu=1, banqiu=0, hedi=0, tianhu=24, renhu=0),
    "wan": Rules(
        ziyise=16,
        ziyise_excludes_pengpeng=True,
        xiaosixi_excludes_winds=True,
        banqiu=0,
        hedi=0,
        haidi_stacks_gangkai=True,
        pinghu_on_rob_kong=False,
        open_kong_win=False,
        forbid_upstream_kong=True,
        tail_no_calls=3,
        swap_calling="same_and_suji",
    ),
    "thirteen": Rules(hand_tiles=13, reserve=0),
}


def parse(text: str) -> Rules:
    """Reads a table from text: a preset's name, then fields, such as `wan,reserve=0`.

    Args:
      text: items separated by commas; each but the first is `field=value`, with `true`, `false`
        and `none` where the field takes them. Without a preset the defaults are changed.

    Raises:
      ValueError: no such preset, field or value; the message says which there are.
    """
    rules, found = DEFAULT, {}
    for place, item in enumerate(filter(None, (part.strip() for part in text.split(",")))):
        name, equals, value = (part.strip() for part in item.partition("="))
        if equals:
            found[name] = _parse_value(name, value)
        elif place == 0:
            rules = _preset(name)
        else:
            raise ValueError(f"After the first item come field=value, not {item!r}, in {text!r}.")
    return dataclasses.replace(rules, **found)


def _preset(name: str) -> Rules:
    """Finds a preset by name."""
    if name not in PRESETS:
        raise ValueError(f"No rules are named {name!r}; there are {', '.join(PRESETS)}.")
    return PRESETS[name]


def _parse_value(name: str, text: str) -> Any:
    """Reads the value of a field; its range is checked by `Rules`."""
    defaults = {field.name: field.default for field in dataclasses.fields(Rules)}
    if name not in defaults:
        near = difflib.get_close_matches(name, defaults, n=1, cutoff=0.0)[0]
        raise ValueError(f"No field of the rules is named {name!r}; did you mean {near!r}?")
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if isinstance(defaults[name], str) or not text.removeprefix("-").isdigit():
        return text
    return int(text)
