"""Plays random legal hands and checks after each decision what holds of every state.

    python -m tests.invariants --hands 1000000

A violation is printed with the seed of its hand, which `--hands 1 --seed THAT` plays again. B =
hands at once, P = 4 seats, S = 4 suits, H = discards.
"""

import argparse
import functools
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import mjx
from mjx import hand, packed
from mjx import state as st
from mjx.rollout import nth_legal
from mjx.rules import DEFAULT, Rules
from mjx.stage import stage
from mjx.step import advance

Array = jax.Array

BATCH = 1024
LONGEST = 640  # decisions; a hand that takes more is itself a violation

CHECKS = (
    "each kind is four times in hands, melds, discards and wall",
    "a hand has its size",
    "one seat acts and something is legal",
    "the mask holds what the words hold",
    "legal discards are held",
    "no more is drawn than may be",
    "waits are those of the hand",
    "discards stay as they are",
    "discards fit into the history",
    "scoring changes nothing else",
    "rewards sum to zero",
    "a hand that is over stays so",
    "a hand comes to its end",
)


class Report(NamedTuple):
    """What is known of B finished hands."""

    violated: Array  # bool[B, len(CHECKS)]
    at: Array  # int32[B]  the decision after which something was first wrong, or -1
    decisions: Array  # int32[B]
    discards: Array  # int32[B]
    won: Array  # bool[B]


class _Play(NamedTuple):
    """One hand on its way."""

    state: mjx.State
    last: mjx.State  # before the last decision
    action: Array  # int32[] the last one
    violated: Array  # bool[len(CHECKS)]
    at: Array  # int32[]
    decisions: Array  # int32[]


@functools.partial(jax.jit, static_argnames="rules")
def play(seeds: Array, rules: Rules = DEFAULT) -> Report:
    """Plays one hand for each seed uint32[B] and checks it; lanes do not depend on each other."""

    def keys_of(seed: Array) -> tuple[Array, Array]:
        deal_key, play_key = jax.random.split(jax.random.key(seed))
        return deal_key, play_key

    deal_keys, play_keys = jax.vmap(keys_of)(seeds)
    number = seeds.astype(jnp.int32)
    states = jax.vmap(lambda k, n: mjx.init(k, rules, n % 4, n // 4 % 4, n // 16 % 3))(
        deal_keys, number
    )
    bits = jax.vmap(lambda key: jax.random.bits(key, (LONGEST,)), out_axes=1)(play_keys)
    before = jax.vmap(_tiles_before)(states.wall)
    move = jax.vmap(lambda s, a: stage(functools.partial(advance, rules=rules), s, a))
    check = jax.vmap(lambda *args: stage(functools.partial(violations, rules=rules), *args))
    first = check(states, states, before)
    plays = _Play(
        states,
        states,
        jnp.zeros_like(number),
        first,
        jnp.where(first.any(axis=1), 0, -1),
        jnp.zeros_like(number),
    )

    def is_running(carry: tuple[Array, _Play]) -> Array:
        turn, plays = carry
        return (turn < LONGEST) & ~plays.state.terminated.all()

    def one_decision(carry: tuple[Array, _Play]) -> tuple[Array, _Play]:
        turn, plays = carry
        state, running = plays.state, ~plays.state.terminated
        action = jax.vmap(nth_legal)(bits[turn], state.legal)
        after = move(state, action)
        violated = check(state, after, before) & running[:, None]
        is_first = violated.any(axis=1) & (plays.at < 0)
        return turn + 1, _Play(
            after,
            jax.vmap(_where)(running, state, plays.last),
            jnp.where(running, action, plays.action),
            plays.violated | violated,
            jnp.where(is_first, turn + 1, plays.at),
            plays.decisions + running,
        )

    plays = jax.lax.while_loop(is_running, one_decision, (jnp.int32(0), plays))[1]
    ends = jax.vmap(functools.partial(_violations_of_end, rules=rules))(plays)
    return Report(
        plays.violated | ends,
        jnp.where(ends.any(axis=1) & (plays.at < 0), plays.decisions, plays.at),
        plays.decisions,
        plays.state.num_discards,
        plays.state.winner >= 0,
    )


def violations(old: mjx.State, new: mjx.State, before: Array, rules: Rules) -> Array:
    """Tells which checks a decision violates: bool[len(CHECKS)].

    Args:
      old: the state before.
      new: the state after, not scored yet.
      before: uint32[S, tiles + 1] as `_tiles_before`.
      rules: the table's rules.
    """
    lies = np.arange(rules.max_discards) < new.num_discards
    held = new.hands.to_array()
    on_turn = jnp.where(new.queue != 0, new.actor, new.current_player)
    has_more = (new.queue == 0) | (new.drawn >= 0)
    more = (np.arange(4) == on_turn) & has_more
    sizes = jnp.sum(packed.num_tiles(held), axis=1) + 3 * st.num_melds(
        new.chows.to_array(), _forms(new)
    )
    words = jnp.stack(new.legal)
    num_legal = jnp.sum(jax.lax.population_count(words), dtype=jnp.int32)
    discardable = words[:4] & packed.MARKS
    own = jnp.stack(new.hands.row(new.current_player))
    same = ((old.history ^ new.history) & ~np.int16(st.HISTORY_CLAIMED)) == 0
    said = np.arange(rules.max_discards) < old.num_discards
    running = ~new.terminated
    found = {
        CHECKS[0]: running & ~_is_conserved(new, before, lies, rules),
        CHECKS[1]: running & (sizes != rules.hand_tiles + more).any(),
        CHECKS[2]: (num_legal == 0) | (new.current_player < 0) | (new.current_player > 3),
        CHECKS[3]: running & (num_legal != jnp.sum(new.legal_action_mask, dtype=jnp.int32)),
        CHECKS[4]: running & (discardable & ~packed.at_least(own, 1) != 0).any(),
        CHECKS[5]: (st.drawable(new, rules) < 0) | (new.tail < new.head - 1),
        CHECKS[6]: running & ~_has_its_waits(new, on_turn, rules),
        CHECKS[7]: (said & ~same).any() | (new.num_discards < old.num_discards),
        CHECKS[8]: (new.num_discards > rules.max_discards) | (~lies & (new.history != 0)).any(),
    }
    return jnp.stack([found.get(name, jnp.bool_(False)) for name in CHECKS])


def _violations_of_end(play: _Play, rules: Rules) -> Array:
    """Tells which checks the end of a hand violates: bool[len(CHECKS)]."""
    ended = mjx.step(play.last, play.action, rules)
    points = ended.rewards if ended.scores is None else ended.scores - play.last.scores
    unscored = play.state.replace(rewards=ended.rewards, scores=ended.scores)
    again = mjx.step(ended, jnp.int32(0), rules)
    kept = ended.replace(rewards=jnp.zeros_like(ended.rewards))
    is_played = play.decisions > 0  # flowers may end a hand at the deal
    found = {
        CHECKS[9]: is_played & ~_is_same(ended, unscored),
        CHECKS[10]: (jnp.sum(ended.rewards) != 0)
        | (points != ended.rewards).any()
        | ((ended.winner < 0) != (ended.rewards == 0).all()) & (rules.base > 0),
        CHECKS[11]: ~_is_same(again, kept),
        CHECKS[12]: ~ended.terminated | (ended.ending == st.ILLEGAL),
    }
    return jnp.stack([found.get(name, jnp.bool_(False)) for name in CHECKS])


def _tiles_before(wall: Array) -> Array:
    """Counts what lies before each place of a wall: words uint32[S, tiles + 1], flowers left out.

    A count of four fits a word, so that what lies between two places is a difference of words.
    """
    kinds = wall.astype(jnp.int32)
    is_suit = packed.suit_of(kinds)[None] == np.arange(4)[:, None]
    is_tile = jnp.broadcast_to(kinds < 34, is_suit.shape)
    units = jnp.broadcast_to(packed.tile(kinds), is_suit.shape)
    sums = jnp.cumsum(jnp.where(is_suit & is_tile, units, jnp.uint32(0)), axis=1, dtype=jnp.uint32)
    return jnp.pad(sums, ((0, 0), (1, 0)))


def _is_conserved(state: mjx.State, before: Array, lies: Array, rules: Rules) -> Array:
    """Tells whether each kind is there four times: bool[]."""
    chows, sets = state.chows.to_array(), state.sets.to_array()
    pongs, kongs = sets & packed.MARKS, (sets >> 1 | sets >> 2) & packed.MARKS
    melds = chows + (chows << packed.BITS) + (chows << 2 * packed.BITS) + 3 * pongs + 4 * kongs
    total = jnp.sum(state.hands.to_array() + melds, axis=0, dtype=jnp.uint32)
    lies = lies & (state.history & st.HISTORY_CLAIMED == 0)
    kinds = (state.history & st.HISTORY_KIND).astype(jnp.int32)
    units, suits = jnp.where(lies, packed.tile(kinds), jnp.uint32(0)), packed.suit_of(kinds)
    for suit in range(4):
        thrown = jnp.sum(jnp.where(suits == suit, units, jnp.uint32(0)), dtype=jnp.uint32)
        total = total.at[suit].add(thrown)
    if rules.wall_mode == "shared":
        total += before[:, state.tail + 1] - before[:, state.head]
    else:
        for seat in range(4):
            head, tail = st.ends_of_wall(state, jnp.int32(seat), rules)
            total += before[:, tail + 1] - before[:, head]
        used = rules.num_dealt + (rules.num_tiles - rules.num_dealt) // 4 * 4
        total += before[:, -1] - before[:, used]
    kind = jnp.maximum(state.pending, 0)
    robbed = jnp.where(state.robbing, packed.tile(kind), jnp.uint32(0))
    total += packed.in_suit(packed.suit_of(kind), robbed)
    return (total == _FOUR_OF_EACH).all()


_FOUR_OF_EACH = np.array([4 * 0o111111111] * 3 + [4 * 0o1111111], np.uint32)


def _forms(state: mjx.State) -> Array:
    """Gives the sets as words uint32[P, S]."""
    return state.sets.to_array()


def _has_its_waits(state: mjx.State, on_turn: Array, rules: Rules) -> Array:
    """Tells whether the waits of the seat that acts, and the next one's, are right: bool[]."""
    is_right = jnp.bool_(True)
    for seat in (on_turn, (on_turn + 1) % 4):
        drawn = jnp.where((seat == on_turn) & (state.drawn >= 0), 1, 0).astype(jnp.uint32)
        kind = jnp.maximum(state.drawn, 0)
        taken = packed.in_suit(packed.suit_of(kind), drawn * packed.tile(kind))
        words = tuple(jnp.stack(state.hands.row(seat)) - taken)
        waits = hand.waits_of_words(words, rules.ligu > 0)
        for one, other in zip(waits, state.waits.row(seat), strict=True):
            is_right &= one == other
    return is_right


def _where(condition: Array, new: mjx.State, old: mjx.State) -> mjx.State:
    """Chooses between two states by one bool[]."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)


def _is_same(one: mjx.State, other: mjx.State) -> Array:
    """Tells whether two states are equal: bool[]."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return jnp.stack([(a == b).all() for a, b in pairs]).all()


def describe(seed: int, rules: Rules, names: list[str], at: int) -> str:
    """Tells of a violation what is needed to see it again."""
    return f"seed {seed}, after decision {at} under {rules}: not so: {'; '.join(names)}"


def run(num_hands: int, seed: int, rules: Rules) -> dict[str, int]:
    """Plays hands in batches.

    Returns:
      How many hands, decisions and wins there were, the most decisions and discards of a hand.

    Raises:
      AssertionError: at the first batch with a violation.
    """
    totals = dict.fromkeys(("hands", "decisions", "wins", "most decisions", "most discards"), 0)
    for start in range(seed, seed + num_hands, BATCH):
        num = min(BATCH, seed + num_hands - start)
        # A short batch is filled up, so that all have one shape.
        seeds = np.minimum(start + np.arange(BATCH), start + num - 1).astype(np.uint32)
        report = jax.tree.map(lambda x, n=num: x[:n], jax.device_get(play(seeds, rules)))
        bad = np.flatnonzero(report.violated.any(axis=1))
        if bad.size:
            first = bad[0]
            names = [CHECKS[i] for i in np.flatnonzero(report.violated[first])]
            raise AssertionError(
                describe(int(seeds[first]), rules, names, int(report.at[first]))
                + f" ({bad.size} of {num} hands)"
            )
        totals["hands"] += num
        totals["decisions"] += int(report.decisions.sum())
        totals["wins"] += int(report.won.sum())
        for name, values in (("decisions", report.decisions), ("discards", report.discards)):
            totals[f"most {name}"] = max(totals[f"most {name}"], int(values.max()))
    return totals


def main() -> None:
    """Reads the command line, plays, and prints what was played."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hands", type=int, default=100_000, help="how many, 1 or more")
    parser.add_argument("--seed", type=int, default=0, help="of the first hand")
    parser.add_argument("--rules", default="default", help="as mjx.rules.parse reads them")
    options = parser.parse_args()
    if options.hands < 1:
        parser.error("--hands is 1 or more")
    try:
        rules = mjx.rules.parse("" if options.rules == "default" else options.rules)
    except ValueError as error:
        parser.error(f"--rules: {error}")
    began = time.perf_counter()
    try:
        totals = run(options.hands, options.seed, rules)
    except AssertionError as violation:
        raise SystemExit(f"VIOLATED: {violation}") from None
    seconds = time.perf_counter() - began
    print(f"no violation, {seconds:.0f} s, {totals['hands'] / seconds:.0f} hands a second")
    print(", ".join(f"{name}: {number}" for name, number in totals.items()))
    print(f"share of wins: {totals['wins'] / totals['hands']:.4f}")


if __name__ == "__main__":
    main()
