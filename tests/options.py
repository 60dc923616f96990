"""Hands under any rules of claims and turns, played by the reference and replayed in bulk.

    python -m tests.options --hands 200 --seed 0

plays that many hands under each of a few dozen sets of rules in which every two options meet. N =
decisions of a hand, B = hands at once, P = 4 seats.
"""

import argparse
import random
from collections import Counter
from itertools import combinations

import jax
import numpy as np

import mjx
from mjx import packed, tiles
from mjx import state as st
from mjx.step import advance
from tests.oracle import actions
from tests.oracle.game import Game
from tests.oracle.players import choose
from tests.oracle.rules import Rules as Reference
from tests.oracle.tiles import name, starts_chow
from tests.oracle.walls import random_wall, rich_wall, wall_with

CHUNK = 32  # steps at once
OPTIONS = {
    "multi_ron": (False, True),
    "guoshui": ("strict", "until_discard", "ron_only", "off"),
    "swap_calling": ("none", "same", "same_and_suji"),
    "forbid_upstream_kong": (False, True),
    "open_kong_win": (True, False),
    "tail_no_calls": (0, 3, 30),
    "min_tai": (0, 2, 5),
    "tianting": (0, 8),
    "diting": (0, 4),
    "ligu": (0, 8),
    "sigangpai": (0, 4),
}
MORE = {
    "menqing_zimo": (3, 0),
    "open_kong_gangkai": (False, True),
    "renhu": (16, 0),
    "quanqiu": (2, 0),
    "tai_cap": (None, 1),
    "reserve": (16, 0),
}
ENDINGS = {
    None: st.DRAWN,
    "self_draw": st.SELF_DRAW,
    "discard": st.ON_DISCARD,
    "rob_kong": st.ROBBED_KONG,
}


def rule_sets(num: int, seed: int) -> list[dict]:
    """Draws sets of rules so that every two values of two options meet early."""
    rng = random.Random(seed)
    seen, found = set(), []
    for _ in range(num):
        drawn = [
            {field: rng.choice(values) for field, values in OPTIONS.items()} for _ in range(50)
        ]
        best = max(drawn, key=lambda rules: len(set(combinations(rules.items(), 2)) - seen))
        seen |= set(combinations(best.items(), 2))
        more = {field: rng.choice(values) for field, values in MORE.items() if rng.random() < 0.4}
        found.append(best | more)
    return found


def shared_wait(rng: random.Random, dealer: int, rules: Reference) -> list[int]:
    """Makes a wall in which all others wait for the tile that the dealer draws first."""
    suit, *others = rng.sample("mps", 3)
    rank = rng.randrange(3, 8)
    waits = [(rank - 2, rank - 1), (rank + 1, rank + 2), (rank - 1, rank + 1)]
    rng.shuffle(waits)
    rest = ["111222333", "444555666", "777888999"]
    pairs = rng.sample("ESWNCFP", 3)
    hands = [""] * 4
    for turn, ((low, high), pair) in enumerate(zip(waits, pairs, strict=True), 1):
        sets, honor = rest[turn - 1], rng.choice([h for h in "ESWNCFP" if h not in pairs])
        more = f"{honor * 3}" if turn == 1 else f"{'123' if turn == 2 else '789'}{others[1]}"
        hands[(dealer + turn) % 4] = f"{low}{high}{suit} {sets}{others[0]} {more} {pair * 2}"
    return wall_with(hands, f"{rank}{suit}", dealer=dealer, rules=rules, seed=rng.randrange(2**32))


def wall_of(rng: random.Random, dealer: int, rules: Reference) -> list[int]:
    """Makes a wall: at random, of sets, or with hands that wait, of pairs, or of fours."""
    seed, form = rng.randrange(2**32), rng.random()
    if rules.multi_ron and form > 0.8:
        return shared_wait(rng, dealer, rules)
    if form < 0.1:
        return random_wall(seed, rules)
    if form < 0.4:
        return rich_wall(seed, rules)
    left, hands = [4] * 34, []
    for _ in range(4):
        style, kinds = rng.choice(("sets", "sets", "pairs", "fours", "mixed", "")), []
        for _ in range(500):
            kind, three_or_run = rng.randrange(34), rng.random() < 0.3
            group = [kind] * {"pairs": 2, "fours": 4}.get(style, 3)
            if style == "mixed":
                group = [kind] * rng.randrange(1, 5)
            if style == "sets" and starts_chow(kind) and not three_or_run:
                group = [kind, kind + 1, kind + 2]
            if style == "sets" and len(kinds) == 15:
                group = [kind]
            fits = all(group.count(tile) <= left[tile] for tile in group)
            if style and fits and len(kinds) + len(group) <= 16:
                kinds += group
                for tile in group:
                    left[tile] -= 1
        if style == "sets" and rng.random() < 0.5 and len(kinds) == 16:
            left[kinds[0]] += 1  # one tile less: the hand waits for several, or for none
            kinds.pop(0)
        hands.append("".join(name(kind) for kind in kinds))
    return wall_with(hands, rules=rules, seed=seed)


def play(seed: int, rules: dict) -> tuple[list[int], int, list[int], list[dict], Counter]:
    """Plays a hand of the reference: the wall, the dealer, the actions, what was seen, events."""
    rng = random.Random(seed)
    reference = Reference(**rules)
    dealer = rng.randrange(4)
    wall = wall_of(rng, dealer, reference)
    game = Game(wall, dealer, rules=reference)
    win_rate = rng.choice((0.3, 0.8, 1.0))
    drifts, gives = rng.random() < 0.3, rng.random() < 0.6
    played, rows, events = [], [shown_by(game)], Counter()
    while not game.terminated:
        options = game.legal_actions()
        action = choose(game, rng, win_rate)
        throws = drifts or (gives and not game.history)
        if throws and game.drawn in options and action < actions.CONCEALED_KONG:
            action = game.drawn
        events["declared"] += action == actions.DECLARE
        events["declared kong"] += (
            bool(game.ready[game.current_player]) and 34 <= action < actions.ADDED_KONG
        )
        events["passed win"] += actions.WIN in options and action != actions.WIN
        game.step(action)
        played.append(action)
        rows.append(shown_by(game))
    events[game.win_by or "drawn"] += 1
    events[f"{len(game.winners)} winners"] += 1
    for item in ("ligu", "sigangpai", "tianting", "diting"):
        events[item] += item in game.tai_items
    return wall, dealer, played, rows, events


def shown_by(game: Game) -> dict:
    """Writes down what is compared of the reference."""
    mask = np.zeros(mjx.NUM_ACTIONS, bool)
    mask[game.legal_actions()] = True
    declared = [(r == "tianting") << s | (r == "diting") << 4 + s for s, r in enumerate(game.ready)]
    ending = "sigangpai" if "sigangpai" in game.tai_items else game.win_by
    return {
        "terminated": game.terminated,
        "ending": (ENDINGS | {"sigangpai": st.FOUR_KONGS})[ending] if game.terminated else 0,
        "hands": np.array(game.hands),
        "locked": sum(is_locked << seat for seat, is_locked in enumerate(game.locked)),
        "ready": sum(declared),
        "winner": -1 if game.winner is None else game.winner,
        "winners": sum(1 << seat for seat in game.winners),
        "drawable": game.drawable,
        "current_player": game.current_player,
        "drawn": -1 if game.drawn is None or game.terminated else game.drawn,
        "mask": mask | game.terminated,
    }


def shown(state: mjx.State, rules: mjx.Rules) -> dict:
    """Collects the same of a state."""
    is_asked = state.queue != 0
    fields = {
        "terminated": state.terminated,
        "ending": state.ending,
        "hands": packed.to_counts(state.hands.to_array()),
        "locked": state.locked,
        "winner": state.winner,
        "drawable": st.drawable(state, rules),
        "current_player": state.current_player,
        "drawn": jax.numpy.where(is_asked | state.terminated, -1, state.drawn),
        "mask": state.legal_action_mask,
    }
    fields |= {} if state.ready is None else {"ready": state.ready}
    return fields | ({} if state.winners is None else {"winners": state.winners})


def replay(rules: dict, hands: list[tuple]) -> None:
    """Replays hands of one set of rules; raises AssertionError at the first difference."""
    table = mjx.Rules(**rules)

    @jax.jit
    def deal(walls, dealers):
        return jax.vmap(lambda wall, dealer: mjx.init_from_wall(wall, table, dealer))(
            walls, dealers
        )

    @jax.jit
    def run(states, rows):
        def one_step(states, row):
            after = jax.vmap(lambda state, action: advance(state, action, table))(states, row)
            return after, jax.vmap(lambda state: shown(state, table))(states)

        return jax.lax.scan(one_step, states, rows)

    longest = max(len(played) for _, _, played, _, _ in hands) + 1
    rows = np.zeros((longest + -longest % CHUNK, len(hands)), np.int32)
    for lane, (_, _, played, _, _) in enumerate(hands):
        rows[: len(played), lane] = played
    states = deal(np.array([h[0] for h in hands], np.int8), np.array([h[1] for h in hands]))
    parts = []
    for start in range(0, len(rows), CHUNK):
        states, part = run(states, rows[start : start + CHUNK])
        parts.append(jax.device_get(part))
    seen = jax.tree.map(lambda *xs: np.concatenate(xs), *parts)
    for lane, (wall, dealer, played, wanted, _) in enumerate(hands):
        for at, want in enumerate(wanted):
            differs = difference(want, {key: value[at, lane] for key, value in seen.items()})
            assert not differs, (
                f"{rules}, dealer {dealer}, decision {at} of {len(played)}: {differs}\nactions so "
                f"far: {[mjx.actions.to_text(a) for a in played[:at]]}\n"
                f"wall: {' '.join(tiles.NAMES[kind] for kind in wall)}"
            )


def difference(want: dict, got: dict) -> str:
    """Names the first thing in which the game differs from the reference; empty if none does."""
    for key, value in got.items():
        if want["terminated"] and key == "current_player":
            continue
        if not (want[key] == value).all():
            if key == "mask":
                value, expected = (np.flatnonzero(mask) for mask in (value, want[key]))
                return f"legal are actions {value}, not {expected}"
            return f"{key} is {value}, not {want[key]}"
    return ""


def check(rules: dict, seeds: range) -> Counter:
    """Plays and replays hands of one set of rules, and counts what happened in them."""
    hands = [play(seed, rules) for seed in seeds]
    replay(rules, hands)
    return sum((hand[4] for hand in hands), Counter())


def main() -> None:
    """Reads the command line, plays, and prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hands", type=int, default=200, help="under each set of rules")
    parser.add_argument("--sets", type=int, default=24, help="of rules")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    events = Counter()
    for i, rules in enumerate(rule_sets(options.sets, options.seed)):
        first = options.seed + i * options.hands
        more = check(rules, range(first, first + options.hands))
        print(rules, dict(more), flush=True)
        events += more
    print(events)


if __name__ == "__main__":
    main()
