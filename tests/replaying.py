"""Hands of the reference under any rules, replayed in the JAX game in bulk.

Compares what tiles, walls, seats and flowers decide; points are left to other tests. N = decisions
and the end, B = hands, P = 4 seats.
"""

import dataclasses
import functools
import random
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import mjx
from mjx import packed
from mjx import state as st
from mjx.rules import Rules
from tests.oracle import actions
from tests.oracle.game import Game
from tests.oracle.players import choose
from tests.oracle.rules import Rules as Reference
from tests.oracle.scripts import run
from tests.oracle.wall import deal
from tests.oracle.walls import random_wall, rich_wall

CHUNK = 40  # steps at once
ENDINGS = {
    None: st.DRAWN,
    "self_draw": st.SELF_DRAW,
    "discard": st.ON_DISCARD,
    "rob_kong": st.ROBBED_KONG,
    "rob_flower": st.EIGHTH_FLOWER_ROBBED,
}
DRAWN_AS = {
    "draw": st.PLAIN_DRAW,
    "own_kong": st.AFTER_OWN_KONG,
    "open_kong": st.AFTER_OPEN_KONG,
    "flower": st.AFTER_FLOWER,
}


def reference(rules: Rules) -> Reference:
    """Gives the reference's rules of the same values."""
    return Reference(**dataclasses.asdict(rules))


class Hand(NamedTuple):
    """A dealt hand, and who plays it."""

    game: Game
    wall: list[int]
    dice_sum: int
    choose: Callable[[Game], int]


def random_hand(seed: int, rules: Rules) -> Hand:
    """Deals a random wall for even seeds, a rich one for odd, and now and then many flowers."""
    rng = random.Random(seed)
    theirs = reference(rules)
    is_rich = seed % 2 == 1
    wall = (rich_wall if is_rich else random_wall)(seed, theirs)
    dealer, dice_sum = rng.randrange(4), rng.randint(3, 18)
    if rules.n_flowers and seed % 3 == 0:
        wall = with_flowers_together(wall, rng, dealer, theirs)
    game = Game(wall, dealer, rng.randrange(4), rng.randrange(3), theirs, dice_sum)
    return Hand(
        game,
        wall,
        dice_sum,
        lambda game: choose(game, rng) if is_rich else rng.choice(game.legal_actions()),
    )


def scripted_hand(wall: list[int], script: str, rules: Rules, dealer: int = 0) -> Hand:
    """Plays a script, after which seats pass or discard what they drew, to the end."""
    theirs = reference(rules)
    played = iter(run(Game(wall, dealer, rules=theirs), script))

    def choose(game: Game) -> int:
        options = game.legal_actions()
        otherwise = actions.PASS if actions.PASS in options else game.drawn
        return next(played, options[0] if otherwise is None else otherwise)

    return Hand(Game(wall, dealer, rules=theirs), wall, 3, choose)


def with_flowers_together(
    wall: list[int], rng: random.Random, dealer: int, rules: Reference
) -> list[int]:
    """Moves the flowers of a wall to one seat, to its tail, or to where the hand is drawn."""
    total, wall = len(wall), list(wall)
    end = total - rules.reserve - 4
    seat = deal(list(range(total)), dealer, rules)[rng.randrange(4)]
    tail = range(total - 12, total)
    places = rng.choice([[*seat], [*seat, *tail[-5:]], [*tail], [*range(end - 8, end + 4)]])
    for place, flower in zip(rng.sample(places, 8), rng.sample(range(34, 42), 8), strict=True):
        other = wall.index(flower)
        wall[place], wall[other] = wall[other], wall[place]
    return wall


def snapshot(game: Game) -> dict[str, np.ndarray]:
    """Writes down what is compared, all seats absolute but for what each sees."""
    mask = np.full(110, game.terminated)
    mask[game.legal_actions()] = True
    left = np.bincount(game.wall.left(), minlength=42)[:34]
    flowers = np.zeros((4, 8), bool)
    kongs = np.zeros((4, 34), int)
    for seat in range(4):
        flowers[seat, [flower - 1 for flower in game.flowers[seat]]] = True
        kongs[seat, [kind for form, kind in game.melds[seat] if form == "ankong"]] = 1
    shown = np.broadcast_to(kongs, (4, 4, 34)).copy()
    if not game.rules.concealed_kong_shown:
        shown[~np.eye(4, dtype=bool)] = 0
    hands = np.array(game.hands)
    hidden = hands.sum(axis=0) - hands + left + 4 * (kongs[None] - shown).sum(axis=1)
    turned = [np.roll(np.arange(4), -seat) for seat in range(4)]
    is_running = not game.terminated
    has_drawn = is_running and game.drawn is not None
    return {
        "terminated": np.array(game.terminated),
        "current_player": np.array(game.current_player if is_running else -1),
        "mask": mask,
        "drawn": np.array(game.drawn if has_drawn else -1),
        "replacement": np.array(DRAWN_AS[game.drawn_as] if has_drawn else 0),
        "drawable": np.array(game.drawable),
        "hands": hands,
        "flowers": flowers,
        "locked": np.array(game.locked),
        "winner": np.array(-1 if game.winner is None else game.winner),
        "payer": np.array(int(np.argmin(game.rewards)) if game.win_by == "rob_flower" else -1),
        "seat_wind": np.array([game.seat_wind(seat) for seat in range(4)]),
        "unseen": hidden,
        "concealed_kongs": np.array([shown[seat][turned[seat]] for seat in range(4)]),
        "flowers_seen": np.array([flowers[turned[seat]] for seat in range(4)]),
    }


def shown_of(state: mjx.State, rules: Rules) -> dict[str, jax.Array]:
    """Collects the same of a state."""
    views = jax.vmap(lambda seat: mjx.observe(state, seat, rules))(jnp.arange(4))
    seats = np.arange(4, dtype=np.uint32)
    is_running = ~state.terminated
    has_drawn = is_running & (state.drawn >= 0)
    flowers = jnp.uint32(0) if state.flowers is None else state.flowers
    bits = (flowers >> np.arange(32, dtype=np.uint32)) & 1 > 0
    flowers = bits.reshape(4, 8)
    is_robbed = state.ending == st.EIGHTH_FLOWER_ROBBED
    return {
        "terminated": state.terminated,
        "current_player": jnp.where(is_running, state.current_player, -1),
        "mask": state.legal_action_mask,
        "drawn": jnp.where(is_running, state.drawn, -1),
        "replacement": jnp.where(has_drawn, state.replacement, 0),
        "drawable": st.drawable(state, rules),
        "hands": packed.to_counts(state.hands.to_array()),
        "flowers": flowers,
        "locked": (state.locked >> seats) & 1 > 0,
        "winner": state.winner,
        "payer": jnp.where(is_robbed, state.actor, -1),
        "seat_wind": views.seat_wind,
        "unseen": views.unseen,
        "concealed_kongs": views.concealed_kongs,
        "flowers_seen": jnp.zeros((4, 4, 8), bool) if views.flowers is None else views.flowers,
        "ending": state.ending,
    }


@functools.partial(jax.jit, static_argnums=0)
def _deal(rules, walls, numbers, dice):
    """Deals B walls."""
    has_dice = rules.seat_wind_mode == "wall_break"

    def deal_one(wall, numbers, dice):
        return mjx.init_from_wall(wall, rules, *numbers, dice_sum=dice if has_dice else None)

    return jax.vmap(deal_one)(walls, numbers, dice)


@functools.partial(jax.jit, static_argnums=0)
def _replay(rules, states, actions):
    """Plays actions [C, B], and shows the state before each."""

    def one_step(states, row):
        after = jax.vmap(lambda s, a: mjx.step(s, a, rules))(states, row)
        return after, jax.vmap(lambda s: shown_of(s, rules))(states)

    return jax.lax.scan(one_step, states, actions)


def compare_random(rules: Rules, seeds: range) -> Counter:
    """Compares hands of random and rich walls; see `compare`."""
    return compare(rules, [random_hand(seed, rules) for seed in seeds])


def compare(rules: Rules, hands: list[Hand]) -> Counter:
    """Plays hands in both games; raises AssertionError at a difference.

    Returns:
      How the hands ended, and how many decisions, flowers and kongs there were.
    """
    played, want = zip(*(_record(hand) for hand in hands), strict=True)
    num_steps = max(map(len, played)) + 1
    num_steps += -num_steps % CHUNK
    padded = np.zeros((num_steps, len(hands)), np.int32)
    for lane, row in enumerate(played):
        padded[: len(row), lane] = row
    walls = np.array([hand.wall for hand in hands], np.int8)
    games = [hand.game for hand in hands]
    numbers = np.array([(g.dealer, g.round_wind, g.streak) for g in games], np.int32)
    dice = np.array([hand.dice_sum for hand in hands], np.int32)
    states = _deal(rules, walls, tuple(numbers.T), dice)
    parts = []
    for start in range(0, num_steps, CHUNK):
        states, part = _replay(rules, states, padded[start : start + CHUNK])
        parts.append(jax.device_get(part))
    got = jax.tree.map(lambda *xs: np.concatenate(xs), *parts)
    for lane, row in enumerate(played):
        for name, expected in want[lane].items():
            seen = got[name][: len(row) + 1, lane]
            differs = (seen != expected).reshape(len(seen), -1).any(axis=1)
            if differs.any():
                at = int(differs.argmax())
                raise AssertionError(
                    f"{rules}, hand {lane}, decision {at} of {len(row)}: {name} is\n"
                    f"{seen[at]}\nbut the reference has\n{expected[at]}\nactions so far: "
                    f"{[mjx.actions.to_text(a) for a in row[:at]]}"
                )
    events = Counter(str(hand.game.win_by) for hand in hands)
    events += Counter(item for game in games for item in game.tai_items)
    events["decisions"] = sum(map(len, played))
    events["flowers"] = sum(len(own) for game in games for own in game.flowers)
    events["kongs"] = sum("kong" in f for game in games for own in game.melds for f, _ in own)
    return events


def _record(hand: Hand) -> tuple[list[int], dict[str, np.ndarray]]:
    """Plays the reference to the end; returns the actions and the snapshots [N, ...]."""
    game, row, rows = hand.game, [], [snapshot(hand.game)]
    while not game.terminated:
        row.append(hand.choose(game))
        game.step(row[-1])
        rows.append(snapshot(game))
    ending = st.EIGHT_FLOWERS if "baxian" in game.tai_items else ENDINGS[game.win_by]
    want = {name: np.array([r[name] for r in rows]) for name in rows[0]}
    return row, want | {"ending": np.array([st.RUNNING] * len(row) + [ending])}
