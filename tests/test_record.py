"""Records: written, read and compared leaf by leaf; every kind of corruption is refused."""

import copy
import json
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjx
from agents import greedy
from mjx import actions, record, tiles
from mjx.record import RecordError, replay, schema
from mjx.rollout import nth_legal
from mjx.rules import DEFAULT, Rules
from tests import fuzz
from tests.oracle import house_rules
from tests.oracle.game import Game
from tests.oracle.score import dealer_items
from tests.recording import record as play_reference

NUM_HANDS = 40
SOUND = ("round_wind", "streak")  # a hand may be as legal with another of these
PATCHES = {"with": ["1m", "9m"], "tai": {"zimo": 90}, "payments": [1, 0, 0, -1]}


@pytest.fixture(scope="module")
def reference():
    """Hands of the reference, on random and rich walls, kongs robbed among them."""
    return [play_reference(seed) for seed in range(NUM_HANDS)]


def _batch(hands, rules=DEFAULT):
    """Deals hands of the reference and pads their decisions: states [B], int[N, B]."""
    names = replay.start_fields(rules)
    starts = [{name: getattr(hand, name) for name in names} for hand in hands]
    played = np.full((max(len(hand.actions) for hand in hands), len(hands)), -7)
    for lane, hand in enumerate(hands):
        played[: len(hand.actions), lane] = hand.actions
    return replay.deal(starts, rules), played


@pytest.fixture(scope="module")
def written(reference):
    return list(record.lines(*_batch(reference)))


@pytest.fixture(scope="module")
def read(written):
    return record.read("\n".join(written) + "\n")


@pytest.fixture(scope="module")
def rows(reference, read):
    """A few hands that hold all events of the default game, as objects."""
    wanted = {"chow", "pong", "open", "added", "concealed", "rob_kong"}
    chosen, found = [], set()
    for hand, back in sorted(zip(reference, read, strict=True), key=lambda h: len(h[0].actions)):
        forms = {e.get("form", e.get("how", e["type"])) for e in back.events}
        if forms & wanted - found:
            chosen.append(hand)
            found |= forms & wanted
    assert found == wanted
    return [json.loads(line) for line in record.lines(*_batch(chosen))]


def _equal(left, right):
    """Asserts that two trees are equal in structure, types, shapes and values."""
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert np.array_equal(a, b)


def _refused(rows):
    """Reads a record that must be refused; returns the error."""
    with pytest.raises(RecordError) as caught:
        record.read([row if isinstance(row, str) else json.dumps(row) for row in rows])
    return caught.value


def test_states_and_actions_are_those_played(reference, read):
    assert len(read) == NUM_HANDS
    shown = fuzz.replay(reference)["state"]
    for lane, (hand, back) in enumerate(zip(reference, read, strict=True)):
        assert back.actions.tolist() == hand.actions and back.actions.dtype == np.int32
        num = len(hand.actions) + 1
        _equal(jax.tree.map(lambda x, n=num, i=lane: x[:n, i], shown), back.states)
        assert back.rules == DEFAULT and back.names is None
        assert back.upto[-1] <= len(back.events)


def test_tai_and_points_are_those_of_the_reference(reference, read):
    winners = 0
    for hand, back in zip(reference, read, strict=True):
        game = Game(hand.wall, hand.dealer, hand.round_wind, hand.streak)
        for action in back.actions.tolist():
            game.step(action)
        assert back.events[-1]["points"] == game.rewards == hand.rewards
        if game.winner is None:
            assert back.events[-1]["how"] == "drawn"
            continue
        winners += 1
        win = back.events[-2]
        giver = game.winner if game.win_by == "self_draw" else game.giver
        is_dealer_in = game.dealer in (game.winner, giver)
        tai = game.tai_items | dealer_items(is_dealer_in, game.streak, game.rules)
        assert (win["seat"], win["from"], win["tai"]) == (game.winner, giver, tai)
        assert win["total"] == sum(tai.values()) and win["payments"] == game.rewards
    assert winners > NUM_HANDS // 2


def test_events_are_what_the_reference_did(reference, read):
    for hand, back in zip(reference, read, strict=True):
        thrown = [e for e in back.events if e["type"] == "discard"]
        assert hand.history == [
            (e["seat"], tiles.NAMES.index(e["tile"]), e["drawn"]) for e in thrown
        ]
        drawn = [e["tile"] for e in back.events if e["type"] == "draw"]
        kongs = sum(e["type"] == "kong" for e in back.events) - (hand.ending == "rob_kong")
        wall = [tiles.NAMES[kind] for kind in hand.wall]
        assert sorted(drawn) == sorted(wall[65 : 65 + len(drawn) - kongs] + wall[136 - kongs :])


def test_one_hand_equals_its_place_in_a_batch(reference, written):
    first, played = _batch(reference[:1])
    alone = list(
        record.lines(jax.tree.map(lambda x: x[0], first), played[: len(played), 0], DEFAULT)
    )
    end = next(i for i, line in enumerate(written) if '"end_hand"' in line)
    assert alone[:-1] == written[: end + 1]
    assert json.loads(alone[-1]) == {"type": "end", "hands": 1}


def test_writing_what_was_read_gives_the_same_lines(read, written):
    first = jax.tree.map(
        lambda *x: np.stack(x), *(jax.tree.map(lambda x: x[0], h.states) for h in read)
    )
    played = np.zeros((max(len(h.actions) for h in read), len(read)), np.int32)
    for lane, hand in enumerate(read):
        played[: len(hand.actions), lane] = hand.actions
    assert list(record.lines(first, played)) == written


def _play(act, key, batch, rules=DEFAULT, steps=200):
    """Plays hands with one player in all seats: first states [B], actions [N, B]."""

    @jax.jit
    def play(key):
        deal_key, act_key = jax.random.split(key)
        first = jax.vmap(lambda k: mjx.init(k, rules))(jax.random.split(deal_key, batch))

        def one_step(states, step_key):
            action = act(step_key, states)
            return jax.vmap(lambda s, a: mjx.step(s, a, rules))(states, action), action

        last, played = jax.lax.scan(one_step, first, jax.random.split(act_key, steps))
        return first, last, played

    first, last, played = play(key)
    assert last.terminated.all()
    return first, played, last


def _random(key, states):
    bits = jax.random.bits(key, states.terminated.shape, jnp.uint32)
    return jax.vmap(lambda b, s: nth_legal(b, s.legal))(bits, states)


def _greedy(key, states):
    player = greedy.make()
    seen = jax.vmap(mjx.observe)(states, states.current_player)
    keys = jax.random.split(key, states.terminated.shape[0])
    return player.act((), keys, seen, seen.legal_action_mask)


@pytest.mark.slow
@pytest.mark.parametrize("act", [_random, _greedy])
def test_games_of_players_come_back(act):
    first, played, last = _play(act, jax.random.key(1), 70)  # more than one block
    hands = record.read(record.lines(first, played))
    assert len(hands) == 70
    for lane, hand in enumerate(hands):
        start, end = (jax.tree.map(lambda x, i=i: x[i], hand.states) for i in (0, -1))
        _equal(jax.tree.map(lambda x, i=lane: np.asarray(x)[i], first), start)
        here = jax.tree.map(lambda x, i=lane: np.asarray(x)[i], last)
        _equal(here, end.replace(rewards=np.zeros(4, np.float32)))  # the end was passed long ago
        assert hand.actions.tolist() == played[: len(hand.actions), lane].tolist()


@pytest.mark.parametrize(
    "rules, preset",
    [
        (Rules(), "AT"),
        (Rules(ziyise=0, quanqiu=1, banqiu=0, hedi=0, tianhu=24, renhu=0), "star31"),
        (Rules(base=7, unit=3, tai_cap=2, streak_cap=1), None),
    ],
)
def test_rules_and_names_come_back(reference, rules, preset):
    first, played = _batch(reference[:3])
    names = [["a", "b", "陳", "d"]] * 3
    lines = list(record.lines(first, played, rules, names))
    start = json.loads(lines[0])
    assert start.get("preset") == preset
    assert all(getattr(rules, name) == value for name, value in start["rules"].items())
    hands = record.read(lines)
    assert {(hand.rules, hand.names) for hand in hands} == {(rules, tuple(names[0]))}
    others = [names[0], ["x"] * 4, ["y"] * 4]
    hands = record.read(record.lines(first, played, rules, others))
    assert [list(hand.names) for hand in hands] == others
    assert all(sum(hand.events[-1]["points"]) == 0 for hand in hands)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["claims", "other flowers", "match"])
def test_hands_under_options_come_back(name):
    """Hands of the reference: the same points, winners and tai are told again."""
    hands = [play_reference(seed, house_rules.COVER[name]) for seed in range(48)]
    rules = fuzz.game_rules(house_rules.COVER[name])
    first, played = _batch([hand._replace(scores=[0] * 4, streak=0) for hand in hands], rules)
    back = record.read(record.lines(first, played, rules))
    for lane, (hand, found) in enumerate(zip(hands, back, strict=True)):
        assert found.actions.tolist() == hand.actions
        _equal(
            jax.tree.map(lambda x, i=lane: x[i], first),
            jax.tree.map(lambda x: x[0], found.states),
        )
        wins = {e["seat"]: e["tai"] for e in found.events if e["type"] == "win"}
        assert wins.keys() == set(hand.winners)
        for seat, items in hand.items.items():
            of_dealer = ("dealer", "dealer_streak")
            counted = {item: n for item, n in wins[seat].items() if item not in of_dealer}
            assert counted == {item: n for item, n in items.items() if n}


# Corruption.


def test_truncation(written):
    """Of a long record at some lines, and at each line of its last hand."""
    num_last = written[::-1].index(next(row for row in written[::-1] if "start_hand" in row))
    for number in [*range(0, len(written), 41), *range(len(written) - num_last, len(written))]:
        error = _refused(written[:number])
        assert error.line == number + 1
        assert error.reason in ("the record is empty", "the record stops before `end`")
    assert _refused([*written, "", ""]).line == len(written) + 1
    cut = [*written[:-1], written[-1][:-1]]
    assert _refused(cut).line == len(written) and "not JSON" in _refused(cut).reason


def _other(rows, number, name, value):
    """Gives another value of the same type for a field."""
    if name in PATCHES:
        return PATCHES[name]
    if name == "wall":
        names = value.split(" ")
        other = next(i for i, tile in enumerate(names) if tile != names[0])
        return " ".join([names[other], *names[1:]])
    if name == "tile":
        return "N" if rows[number]["type"] != "discard" else _not_held(rows, number)
    others = {
        **{"form": ["open", "added", "concealed"], "how": ["drawn", "self_draw", "rob_kong"]},
        "round_wind": ["E", "S"],
    }
    if name in others:
        return next(other for other in others[name] if other != value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return (value + 1) % 4 if name in ("seat", "from", "dealer") else value + 1
    if isinstance(value, list):
        return value[1:] + value[:1]
    return {"base": 2000} if isinstance(value, dict) else value + "x"


def _not_held(rows, number):
    """Gives a tile that a discard cannot be: one that never was in the seat's hand."""
    seat, past = rows[number]["seat"], rows[:number]
    start = max(i for i, row in enumerate(past) if row["type"] == "start_hand")
    wall, place = past[start]["wall"].split(" "), (seat - past[start]["dealer"]) % 4
    held = {wall[16 * block + 4 * place + i] for block in range(4) for i in range(4)} | {wall[64]}
    held |= {row["tile"] for row in past[start:] if row["type"] == "draw"}
    return next(tile for tile in tiles.NAMES if tile not in held)


def _first_of_each(rows):
    """Lists the first line of each sort of event."""
    found = {}
    for number, row in enumerate(rows):
        found.setdefault((row["type"], row.get("form"), row.get("how")), number)
    return found.values()


def test_each_field_changed_removed_or_of_another_type(rows):
    for number in _first_of_each(rows):
        for name, value in rows[number].items():
            bad = [_other(rows, number, name, value), None, [[]]]
            for other in bad if name != "type" else ["nonsense", "draw", None, 5]:
                if other == value or (name in SOUND and type(other) is type(value)):
                    continue
                changed = copy.deepcopy(rows)
                changed[number][name] = other
                error = _refused(changed)
                # A start_hand may be sound by itself, and its hand then is another.
                is_later = rows[number]["type"] == "start_hand" and error.line > number + 1
                assert error.line == number + 1 or is_later, (error, name, other)
                assert error.reason and str(error).startswith(f"line {error.line}")
            if name != "preset":
                changed = copy.deepcopy(rows)
                del changed[number][name]
                assert _refused(changed).line == number + 1, name
        changed = copy.deepcopy(rows)
        changed[number]["extra"] = 1
        assert "unknown field `extra`" in _refused(changed).reason


def test_each_line_removed_doubled_or_exchanged(rows):
    hand = [i for i, row in enumerate(rows) if row["type"] in ("start_hand", "end_hand")][:2]
    for number in range(hand[0], hand[1] + 1, 3):
        removed = rows[:number] + rows[number + 1 :]
        doubled = rows[: number + 1] + rows[number:]
        assert _refused(removed).line >= number + 1
        assert _refused(doubled).line == number + 2
        if number < hand[1] and rows[number] != rows[number + 1]:
            swapped = [*rows[:number], rows[number + 1], rows[number], *rows[number + 2 :]]
            assert _refused(swapped).line >= number + 1


def test_reasons(rows):
    def changed(kind, **fields):
        number = next(i for i, row in enumerate(rows) if row["type"] == kind)
        other = copy.deepcopy(rows)
        other[number] |= fields
        return _refused(other)

    assert "the wall's next tile is" in changed("draw", tile="N").reason
    assert "legal for seat" in changed("discard", tile=_not_held(rows, 2)).reason
    assert "`total` is" in changed("win", total=99).reason
    assert "`tai` is" in changed("win", tai={"dasixi": 16}).reason
    assert "`payments` is" in changed("win", payments=[0, 0, 0, 0]).reason
    assert "version" in changed("start", version=2).reason
    assert "is no run" in changed("chow", **{"with": ["1m", "9m"]}).reason
    assert changed("pong", tile="N").event == "pong"
    assert "hands is" in changed("end", hands=9).reason
    assert "136" in changed("start_hand", wall=rows[1]["wall"] + " 1m").reason
    assert "rules" in changed("start", rules={"nobody": 1}).reason


@pytest.mark.parametrize(
    "line", ["", "[]", "{", "nonsense", '{"type": 5}', '{"type": "draw", "type": "draw"}', "NaN"]
)
def test_lines_that_are_no_events(rows, line):
    bad = [*map(json.dumps, rows[:5]), line, *map(json.dumps, rows[5:])]
    assert _refused(bad).line == 6


def test_deep_nesting_is_no_crash(rows):
    assert _refused([json.dumps(rows[0]), "[" * 100_000]).line == 2


def test_a_record_of_no_hands(rows):
    assert record.read([json.dumps(rows[0]), json.dumps({"type": "end", "hands": 0})]) == []


# What cannot be written.


def test_what_no_record_can_hold_is_not_written(reference):
    first, played = _batch(reference[:2])
    with pytest.raises(ValueError, match="Hand 0 is not over after its 5 decisions"):
        list(record.lines(first, played[:5]))
    illegal = played.copy()
    illegal[3, 1] = actions.DECLARE_READY
    with pytest.raises(ValueError, match="Hand 1: decision 3 is 109, which is not legal"):
        list(record.lines(first, illegal))
    later = jax.vmap(mjx.step)(first, played[0])
    with pytest.raises(ValueError, match="Hand 0: its state is not the one"):
        list(record.lines(later, played[1:]))
    with pytest.raises(ValueError, match="four texts"):
        list(record.lines(first, played, DEFAULT, ["a", "b"]))
    with pytest.raises(ValueError, match="a column a hand"):
        list(record.lines(first, played[:, 0]))


def test_hands_of_a_match_follow_on_each_other():
    rules = types.SimpleNamespace(hand_mode="match")
    before = {"type": "start_hand", "dealer": 3, "round_wind": "E", "streak": 1}
    before |= {"first_dealer": 0, "scores": [0] * 4}
    end = {"type": "end_hand", "scores": [3, -1, -1, -1]}
    won = [before, {"type": "win", "seat": 0}, end]
    right = {
        "dealer": 0,
        "round_wind": "S",
        "streak": 0,
        "first_dealer": 0,
        "scores": end["scores"],
    }
    assert schema.does_not_follow(won, right, rules) is None
    for name, wrong in (
        ("dealer", 3),
        ("round_wind", "E"),
        ("streak", 1),
        ("scores", [0, 0, 1, -1]),
    ):
        assert f"`{name}` is" in schema.does_not_follow(won, right | {name: wrong}, rules)
    held = right | {"dealer": 3, "round_wind": "E", "streak": 2}
    for told in ([before, end], [before, {"type": "win", "seat": 3}, end]):
        assert schema.does_not_follow(told, held, rules) is None
    last = [before | {"round_wind": "N"}, {"type": "win", "seat": 0}, end]
    assert "is over" in schema.does_not_follow(last, right, rules)
    new = right | {"scores": [0] * 4}
    assert schema.does_not_follow(last, new, rules) is None
    assert schema.does_not_follow(won, right | {"dealer": 2}, DEFAULT) is None


# Disk.


def test_files_come_back_and_are_whole(tmp_path, written):
    path = tmp_path / "hands.jsonl"
    record.write_file(path, written)
    assert path.read_text(encoding="utf-8") == "\n".join(written) + "\n"
    assert len(record.read_file(path)) == NUM_HANDS

    def breaks():
        yield "{}"
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        record.write_file(path, breaks())
    record.write_file(path, None)
    assert path.read_text(encoding="utf-8").count("\n") == len(written)
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_cannot_be(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        record.write_file(tmp_path, [])
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        record.write_file(tmp_path / "no" / "file", [])
    with pytest.raises(FileNotFoundError):
        record.read_file(tmp_path / "nothing")
    path = tmp_path / "latin"
    path.write_bytes(b'{"type": "start"}\n"\xff"\n')
    with pytest.raises(RecordError, match="line 2: the text is not UTF-8"):
        record.read_file(path)
