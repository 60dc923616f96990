"""Some thousands of hands of the long comparison, which `python -m tests.fuzz` goes on with.

Each set of rules is compiled for once, and then meets its hands and the scenes of the flow facts
that it holds for.
"""

import dataclasses

import numpy as np
import pytest

from tests import fuzz, recording
from tests.oracle import house_rules
from tests.oracle.rules import Rules
from tests.oracle.scenes import LOCKS, SCENES, WINS

NUM_HANDS = 300
DEFAULTS = dataclasses.asdict(Rules())
# The scenes of the facts F20 to F23 and F25, which need an option.
OF_OPTIONS = {
    name: scene for name, scene in (SCENES | WINS | LOCKS).items() if scene.rules != Rules()
}


def changes(rules):
    """Gives the fields that are not at their default."""
    return {name: v for name, v in dataclasses.asdict(rules).items() if v != DEFAULTS[name]}


def scenes_under(rules):
    """Gives the scenes whose options the rules have, and which can be dealt by them."""
    if rules.hand_tiles != 16 or rules.n_flowers:
        return {}
    return {
        name: scene
        for name, scene in OF_OPTIONS.items()
        if changes(scene.rules).items() <= changes(rules).items()
    }


def _needed():
    """Names sets of rules that hold every option and scene; `tests.fuzz` plays by all of them."""
    names = list(house_rules.COVER)

    def held(some):
        rules = [house_rules.COVER[name] for name in some]
        return {name for one in rules for name in (*changes(one), *scenes_under(one))}

    for name in list(names)[1:]:  # the first is the game as most play it
        fewer = [other for other in names if other != name]
        if held(fewer) == held(house_rules.COVER):
            names = fewer
    return names


@pytest.mark.slow
@pytest.mark.parametrize("name", _needed())
def test_hands_replay_without_a_difference(name):
    """Random and rich walls, and what is rare, by players who win, pass, kong, call or declare."""
    number, rules = list(house_rules.COVER).index(name), house_rules.COVER[name]
    events = fuzz.run_block(number * fuzz.BLOCK, NUM_HANDS, rules)[0]
    wanted = ["drawn", "self_draw", "discard", "rob_kong", "passed robbery"]
    wanted += ["concealed kong", "added kong", "open kong", "chow", "pong"]
    wanted += ["passed win", "declined self-draw"] if rules.guoshui != "off" else []
    assert min(events[name] for name in wanted) > 0, events
    scenes = scenes_under(rules).values()
    for scene in scenes:
        scene = dataclasses.replace(scene, rules=rules)
        played = scene.play_all()[1]
        fuzz.play([recording.record_actions(scene.new_game(), scene.wall, played)])


def test_rules_cover_every_option_and_every_fact():
    """An option that no test plays by, or a fact that only the reference is tried on, is missed."""
    covered = {name for rules in house_rules.COVER.values() for name in changes(rules)}
    assert covered == set(DEFAULTS) == set(house_rules.VALUES)
    assert {name for rules in house_rules.COVER.values() for name in scenes_under(rules)} == set(
        OF_OPTIONS
    )


def test_drawn_rules_hold_every_option_often_and_every_pair():
    drawn = [set(changes(house_rules.draw(number))) for number in range(400)]
    for name in DEFAULTS:
        assert sum(name in found for found in drawn) >= 40, name
        for other in DEFAULTS:
            assert sum({name, other} <= found for found in drawn) >= 8, (name, other)


@pytest.mark.parametrize("number", range(0, 40, 3))
def test_rules_are_named_as_they_are_read(number):
    rules = house_rules.draw(number)
    assert fuzz.rules_named(house_rules.name_of(rules)) == rules


@pytest.mark.slow
def test_players_and_walls_meet_what_is_rare():
    """But for a few items of one hand in some thousands, which the long comparison counts."""
    missing = set(recording.RARE) - {"dasanyuan", "xiaosanyuan", "dasixi", "xiaosixi", "ziyise"}
    missing -= {"qingyise", "banqiu", "flower_kong_season", "flower_kong_plant"}
    for number, rules in enumerate(house_rules.COVER.values()):
        first = number * fuzz.BLOCK
        for seed in range(first, first + 320):
            if seed % 10 in (1, 4, 5, 7, 8):  # see `recording.record`
                events = recording.record(seed, rules).events
                missing -= {name for name, count in events.items() if count}
    assert not missing


# Each alters what the reference is said to have done; the comparison has to notice.
FALSEHOODS = {
    "hands": lambda hand: hand.snapshots["hands"].__iadd__(1),
    "locked": lambda hand: np.logical_not(hand.snapshots["locked"], out=hand.snapshots["locked"]),
    "mask": lambda hand: hand.snapshots["mask"][3].fill(True),
    "unseen": lambda hand: hand.snapshots["left"].__iadd__(1),
    "rewards": lambda hand: hand.rewards.__setitem__(0, 1),
    "history_claimed": lambda hand: hand.claimed_at.__setitem__(0, len(hand.actions)),
    "concealed_kongs": lambda hand: hand.snapshots["melds"][5, 1, 3].fill(1),
}


@pytest.mark.parametrize("name", FALSEHOODS)
def test_a_difference_is_noticed(name):
    """A comparison that cannot fail would pass every hand."""
    hand = recording.record(0)
    FALSEHOODS[name](hand)
    with pytest.raises(AssertionError, match=rf"seed 0, decision \d+ of \d+: .*{name}"):
        fuzz.play([hand])


def test_other_items_of_the_same_worth_are_noticed():
    """Points alone would not tell one item from another."""
    hand = next(h for h in map(recording.record, range(50)) if "'menqing'" in str(h.items))
    ((seat, items),) = hand.items.items()
    other = {"zimo" if name == "menqing" else name: tai for name, tai in items.items()}
    with pytest.raises(AssertionError, match=rf"items of seat {seat}"):
        fuzz.play([hand._replace(items={seat: other})])


def test_another_wall_is_noticed():
    hand, other = recording.record(0), recording.record(2)
    with pytest.raises(AssertionError, match="seed 0, decision"):
        fuzz.play([hand._replace(wall=other.wall)])


def test_an_illegal_action_is_noticed():
    hand = recording.record(0)
    illegal = int(np.flatnonzero(~hand.snapshots["mask"][0])[0])
    with pytest.raises(AssertionError, match=r"decision 1 of .*: terminated"):
        fuzz.play([hand._replace(actions=[illegal, *hand.actions[1:]])])


def test_replay_compiles_once():
    fuzz.play([recording.record(0)])
    compiled = fuzz._deal._cache_size(), fuzz._replay._cache_size()
    fuzz.play([recording.record(seed) for seed in (1, 7)])
    assert (fuzz._deal._cache_size(), fuzz._replay._cache_size()) == compiled
