"""The list of moves: its counts, its order, its texts, and what beats what."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from doudizhu import cards, legal, moves, tables
from tests.doudizhu import lockstep
from tests.oracle import doudizhu as oracle

MOVES = moves.all_moves()
COUNTS = {  # moves, groups and strict moves of each category (A, G and strict of the design)
    "solo": (15, 15, 15),
    "pair": (13, 13, 13),
    "trio": (13, 13, 13),
    "trio_solo": (182, 13, 182),
    "trio_pair": (156, 13, 156),
    "solo_chain": (36, 36, 36),
    "pair_chain": (52, 52, 52),
    "trio_chain": (45, 45, 45),
    "plane_solo": (968 + 3282 + 7184 + 10388, 38, 7161),
    "plane_pair": (605 + 1200 + 1134, 30, 2939),
    "quad_solo": (1326, 13, 1170),
    "quad_pair": (858, 13, 858),
    "bomb": (13, 13, 13),
    "rocket": (1, 1, 1),
    "pass": (1, 1, 1),
}
DECK = "".join(rank if rank in "BR" else 4 * rank for rank in oracle.ORDER)


@pytest.fixture(scope="module")
def reference():
    """All that the reference makes of the whole deck, up to a hand's 20 cards."""
    return {text: kind for text, kind in oracle.moves_of(DECK).items() if len(text) <= 20}


def test_counts():
    found = {}
    for category, name in enumerate(moves.CATEGORIES):
        ids = np.flatnonzero(MOVES.category == category)
        assert (np.diff(ids) == 1).all()
        groups = len(set(MOVES.group[ids].tolist()))
        found[name] = (len(ids), groups, int(MOVES.is_strict[ids].sum()))
    assert found == COUNTS
    totals = np.sum(list(COUNTS.values()), axis=0).tolist()
    assert totals == [27472, 309, 12655] == [moves.NUM_MOVES, tables.NUM_GROUPS, totals[2]]
    by_length = {
        name: [
            int(((MOVES.category == moves.CATEGORIES.index(name)) & (MOVES.length == n)).sum())
            for n in lengths
        ]
        for name, lengths in (("plane_solo", range(2, 6)), ("plane_pair", range(2, 5)))
    }
    assert by_length == {"plane_solo": [968, 3282, 7184, 10388], "plane_pair": [605, 1200, 1134]}


def test_moves_are_those_of_the_reference(reference):
    assert {*reference, oracle.PASS} == set(MOVES.names)
    for text, kind in reference.items():
        move = moves.from_text(text)
        ours = moves.CATEGORIES[MOVES.category[move]], MOVES.length[move], MOVES.head[move]
        assert ours == (kind.category, kind.length if kind.category != "rocket" else 2, kind.head)
        assert cards.format(MOVES.counts[move].tolist()) == text


def test_strict_moves_are_those_of_the_reference():
    strict = {n for n, allowed in zip(MOVES.names, MOVES.is_strict, strict=True) if allowed}
    expected = {text for text in oracle.moves_of(DECK, strict=True) if len(text) <= 20}
    assert strict == {*expected, oracle.PASS}


def test_order_of_ids():
    """By category, length and head; then by the kickers, compared rank by rank."""
    kickers = []
    for move in range(moves.PASS):
        group = MOVES.groups[MOVES.group[move]]
        rest = MOVES.counts[move] - np.array(group.main)
        kickers.append(tuple(np.repeat(np.arange(15), rest).tolist()))
    keys = list(zip(MOVES.group[:-1].tolist(), kickers, strict=True))
    assert keys == sorted(keys)
    main = [(group.category, group.length, group.head) for group in MOVES.groups]
    assert main == sorted(main)
    assert len({*MOVES.names}) == moves.NUM_MOVES
    named = moves.FIRST_BOMB, moves.ROCKET, moves.PASS
    assert [MOVES.names[move] for move in named] == ["3333", "BR", "pass"]


def test_texts_come_back():
    for move in range(moves.NUM_MOVES):
        assert moves.from_text(moves.to_text(move)) == move
    assert moves.from_text("4 3R333") == moves.from_text("33334R") > 0


@pytest.mark.skipif(not lockstep.HAS_RLCARD, reason="pip install rlcard==1.2.0")
def test_ids_of_rlcard():
    theirs = list(lockstep.rlcard().utils.ID_2_ACTION)
    assert sorted(theirs) == sorted(MOVES.names)
    others = [i for i, name in enumerate(theirs) if MOVES.names[i] != name]
    assert min(others) == 1480 and max(others) <= 22333


def test_beats_is_that_of_the_reference(reference):
    """Kickers never count, so one move of each group stands for all; the pass is a lead."""
    firsts = tables.group_table(False).first
    kinds = [reference[MOVES.names[move]] for move in firsts[:-1]]
    table = jax.jit(jax.vmap(jax.vmap(legal.beats, (0, None)), (None, 0)))
    got = np.asarray(table(jnp.asarray(firsts), jnp.asarray(firsts)))  # [on, with]
    expected = [[oracle.beats(new, old) for new in kinds] for old in kinds]
    assert (got[:-1, :-1] == expected).all()
    assert got[-1, :-1].all() and not got[:, -1].any()


def test_beats_is_a_strict_order_within_a_class():
    firsts = tables.group_table(False).first[:-1]
    got = np.asarray(
        jax.jit(jax.vmap(jax.vmap(legal.beats, (0, None)), (None, 0)))(
            jnp.asarray(firsts), jnp.asarray(firsts)
        )
    )
    assert not (got & got.T).any() and not got.diagonal().any()
    classes = [(g.category, g.length) for g in MOVES.groups[:-1]]
    for _, members in itertools.groupby(range(308), key=classes.__getitem__):
        inside = list(members)
        part = got[np.ix_(inside, inside)]
        assert (part == np.tri(len(inside), k=-1, dtype=bool).T).all()
    assert got.any(axis=1).sum() == 307  # all but the rocket can be beaten


@pytest.mark.parametrize(
    "text, message",
    [
        ("34", "'34' is no move"),
        ("333444BR", "no move"),  # both jokers
        ("33344445", "no move"),  # a trio more, next to the plane
        ("33334444", "no move"),  # two equal pairs
        ("", "no move"),
        ("10", "Cannot read '1' at position 0 of '10': a card is one of 3 4 5"),
        ("33333", "holds 5 of 3; there are 4"),
        ("BB", "holds 2 of B; there is 1"),
    ],
)
def test_texts_that_are_no_moves(text, message):
    with pytest.raises(ValueError, match=message):
        moves.from_text(text)


def test_ids_and_hands_out_of_range():
    with pytest.raises(ValueError, match="0 to 27471, not 27472"):
        moves.to_text(27472)
    with pytest.raises(ValueError, match="not -1"):
        moves.to_text(-1)
    with pytest.raises(ValueError, match="not int"):
        cards.parse(3)
    for counts in ([1] * 14, [5] + [0] * 14, [0] * 14 + [2], [-1] + [0] * 14):
        with pytest.raises(ValueError, match="13 counts of 0 to 4"):
            cards.format(counts)
    assert cards.format(cards.parse("R2 3T3")) == "33T2R"
