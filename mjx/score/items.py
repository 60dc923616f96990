"""The items of the tai table: their ids, names and order.

The order is that of the table in `docs/rules.md`; it settles ties between readings of a hand. The
dealer's own items belong to a payment, not to a hand, and are not listed.

Plain Python on the host: nothing here is traced.
"""

from typing import NamedTuple

from mjx.rules import Rules


class Name(NamedTuple):
    """What an item is called."""

    english: str
    chinese: str


NAMES = {
    "zimo": Name("self-draw", "自摸"),
    "menqing": Name("concealed hand", "門清"),
    "menqing_zimo": Name("concealed self-draw", "門清自摸"),
    "duting": Name("single wait", "獨聽"),
    "pinghu": Name("all chows", "平胡"),
    "quanqiu": Name("all melds claimed, won on a discard", "全求"),
    "banqiu": Name("all melds claimed, self-drawn", "半求"),
    "qianggang": Name("robbing a kong", "搶槓"),
    "gangkai": Name("win on a kong's replacement", "槓上開花"),
    "haidi": Name("self-draw of the last tile", "海底撈月"),
    "hedi": Name("win on the last discard", "河底撈魚"),
    "round_wind": Name("round wind", "圈風"),
    "seat_wind": Name("seat wind", "門風"),
    "dragon_c": Name("red dragon", "紅中"),
    "dragon_f": Name("green dragon", "青發"),
    "dragon_p": Name("white dragon", "白板"),
    "xiaosanyuan": Name("little three dragons", "小三元"),
    "dasanyuan": Name("big three dragons", "大三元"),
    "xiaosixi": Name("little four winds", "小四喜"),
    "dasixi": Name("big four winds", "大四喜"),
    "anke3": Name("three concealed triplets", "三暗刻"),
    "anke4": Name("four concealed triplets", "四暗刻"),
    "anke5": Name("five concealed triplets", "五暗刻"),
    "pengpenghu": Name("all triplets", "碰碰胡"),
    "hunyise": Name("one suit and honours", "混一色"),
    "qingyise": Name("one suit", "清一色"),
    "ziyise": Name("all honours", "字一色"),
    "tianhu": Name("heavenly hand", "天胡"),
    "dihu": Name("earthly hand", "地胡"),
    "renhu": Name("human hand", "人胡"),
    "tianting": Name("declared ready at the deal", "天聽"),
    "diting": Name("declared ready with the first discard", "地聽"),
    "sigangpai": Name("four kongs", "四槓牌"),
    "ligu": Name("seven pairs and a triplet", "嚦咕嚦咕"),
    "flower": Name("own flowers", "花牌"),
    "flower_kong_season": Name("all four seasons", "四季花槓"),
    "flower_kong_plant": Name("all four plants", "四君子花槓"),
    "baxian": Name("all eight flowers", "八仙過海"),
    "qiqiangyi": Name("seven flowers rob the eighth", "七搶一"),
}
ITEMS = tuple(NAMES)
NUM_ITEMS = len(ITEMS)


def capped(items: dict[str, int], rules: Rules) -> int:
    """Adds up the tai of a hand, without the dealer's; the cap holds for these."""
    total = sum(items.values())
    return total if rules.tai_cap is None else min(total, rules.tai_cap)


def dealers_items(is_dealer_in: bool, streak: int, rules: Rules) -> dict[str, int]:
    """Gives the dealer's items of a win: empty unless the winner or the one payer deals."""
    if rules.streak_cap is not None:
        streak = min(streak, rules.streak_cap)
    items = {"dealer": 1, "dealer_streak": 2 * streak} if is_dealer_in else {}
    return {item: tai for item, tai in items.items() if tai}
