"""The options of the rules, with their defaults.

There is no binding rule book of the 16-tile game; every point on which tables differ is a field.
A tai value of 0 means that the item does not exist: nothing is replaced or excluded by it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """One table's rules; the defaults follow the association's tai table of 2009."""

    # The set of tiles, the wall and the seats.
    hand_tiles: int = 16  # 13: four sets and a pair instead of five
    n_flowers: int = 0  # 8: a wall of 144 tiles
    reserve: int = 16  # tiles that stay in the wall
    reserve_per_kong: int = 0  # tiles that every kong adds to the reserve
    concealed_kong_shown: bool = True  # only matters to what an observer sees
    seat_wind_mode: str = "dealer_east"  # or "wall_break"
    hand_mode: str = "single"  # or "match"

    # Stakes.
    base: int = 1000
    unit: int = 500
    min_tai: int = 0
    tai_cap: int | None = None
    streak_cap: int | None = None

    # Flow.
    wall_mode: str = "shared"  # or "stable_draw"
    multi_ron: bool = False
    guoshui: str = "strict"  # or "until_discard", "ron_only", "off"
    swap_calling: str = "none"  # or "same", "same_and_suji"
    forbid_upstream_kong: bool = False
    open_kong_win: bool = True
    open_kong_gangkai: bool = False
    tail_no_calls: int = 0

    # Tai.
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
        """Sets of a complete hand beside its pair: five, or four with 13 tiles."""
        return (self.hand_tiles - 1) // 3


PRESETS = {
    "AT": Rules(),
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
