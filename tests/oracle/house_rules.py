"""Rules drawn by chance, so that long comparisons meet every option and every pair of options."""

import dataclasses
import random

from tests.oracle.rules import PRESETS, Rules

# The values that an option is tried at, beside its default.
VALUES = {
    "hand_tiles": (13,),
    "n_flowers": (8,),
    "reserve": (0, 7, 40, 60, 71),
    "reserve_per_kong": (1, 2),
    "concealed_kong_shown": (False,),
    "seat_wind_mode": ("wall_break",),
    "hand_mode": ("match",),
    "base": (0, 300),
    "unit": (1, 100),
    "min_tai": (1, 2, 4),
    "tai_cap": (0, 3, 8),
    "streak_cap": (0, 1, 2),
    "wall_mode": ("stable_draw",),
    "multi_ron": (True,),
    "guoshui": ("until_discard", "ron_only", "off"),
    "swap_calling": ("same", "same_and_suji"),
    "forbid_upstream_kong": (True,),
    "open_kong_win": (False,),
    "open_kong_gangkai": (True,),
    "tail_no_calls": (1, 3, 20),
    "ziyise": (0, 16),
    "ziyise_excludes_pengpeng": (True,),
    "xiaosixi_excludes_winds": (True,),
    "quanqiu": (0, 1, 3),
    "quanqiu_excludes_duting": (True,),
    "banqiu": (0, 2),
    "hedi": (0, 2),
    "haidi_stacks_gangkai": (True,),
    "menqing_zimo": (0, 2, 5),
    "pinghu_with_menqing": (False,),
    "pinghu_on_rob_kong": (False,),
    "tianhu": (0, 24),
    "dihu": (0, 24),
    "renhu": (0, 24),
    "tianting": (8, 16),
    "diting": (4, 8),
    "ligu": (8, 1),
    "sigangpai": (8, 2),
    "flower": (0, 2),
    "flower_kong": (0, 1),
    "flower_kong_excludes_own": (True,),
    "baxian": (0, 16),
    "qiqiangyi": (0, 16),
}
OF_FLOWERS = ("flower", "flower_kong", "flower_kong_excludes_own", "baxian", "qiqiangyi")


# Together these hold every preset, and every option at some other value than its default.
COVER = {
    **PRESETS,
    "claims": Rules(
        reserve_per_kong=1,
        concealed_kong_shown=False,
        min_tai=2,
        multi_ron=True,
        guoshui="until_discard",
        swap_calling="same",
        open_kong_gangkai=True,
        tail_no_calls=1,
        quanqiu=1,
        quanqiu_excludes_duting=True,
        ligu=8,
        sigangpai=8,
    ),
    "ready": Rules(
        multi_ron=True,
        tianting=8,
        diting=4,
        ligu=8,
        sigangpai=2,
        hedi=2,
        menqing_zimo=2,
        swap_calling="same_and_suji",
        forbid_upstream_kong=True,
        tail_no_calls=3,
    ),
    "flowers": Rules(
        n_flowers=8,
        tianting=16,
        diting=8,
        multi_ron=True,
        guoshui="off",
        sigangpai=8,
        pinghu_with_menqing=False,
        dihu=24,
    ),
    "other flowers": Rules(
        n_flowers=8,
        reserve=7,
        reserve_per_kong=2,
        seat_wind_mode="wall_break",
        wall_mode="stable_draw",
        guoshui="ron_only",
        flower=2,
        flower_kong=1,
        flower_kong_excludes_own=True,
        baxian=0,
        qiqiangyi=16,
        ligu=8,
        open_kong_win=False,
    ),
    "match": Rules(
        hand_mode="match",
        seat_wind_mode="wall_break",
        base=300,
        unit=100,
        tai_cap=8,
        streak_cap=2,
        multi_ron=True,
        concealed_kong_shown=False,
        xiaosixi_excludes_winds=True,
        ziyise=16,
    ),
    "thirteen with flowers": Rules(
        hand_tiles=13,
        n_flowers=8,
        reserve=0,
        hand_mode="match",
        multi_ron=True,
        baxian=16,
        sigangpai=8,
        tianting=8,
        diting=4,
        min_tai=1,
    ),
}


def draw(number: int) -> Rules:
    """Gives the rules of a block: first those of `COVER`, then some drawn by chance.

    Args:
      number: from 0 on; of ten that are drawn three have a single option changed, each in turn,
        and the others several.
    """
    if number < len(COVER):
        return list(COVER.values())[number]
    rng = random.Random(number)
    turn, form = divmod(number, 10)
    if form < 3:
        names = [list(VALUES)[(3 * turn + form) % len(VALUES)]]
    else:
        share = (0.1, 0.25, 0.5)[form % 3]
        names = [name for name in VALUES if rng.random() < share]
    changes = {name: rng.choice(VALUES[name]) for name in names}
    if any(name in OF_FLOWERS for name in names):  # which mean nothing without
        changes["n_flowers"] = 8
    return Rules(**changes)


def name_of(rules: Rules) -> str:
    """Writes rules as `mjx.rules.parse` reads them: `field=value,...`, nothing for the defaults."""
    changes = [
        f"{field.name}={getattr(rules, field.name)}"
        for field in dataclasses.fields(rules)
        if getattr(rules, field.name) != field.default
    ]
    return ",".join(changes)
