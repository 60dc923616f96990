"""The command line: hands scored, records replayed, a hand played, and all that is refused."""

import io
import json
import pathlib
import re
import sys

import jax
import pytest

from mjx import __main__ as command
from mjx import record
from mjx.record import replay
from mjx.rules import DEFAULT
from tests.oracle import cases
from tests.recording import record as play_reference

CASES = pathlib.Path(__file__).parent / "cases" / "tw16_hands.jsonl"


def _run(capsys, *arguments):
    """Runs a command; returns its status and what it printed."""
    status = command.main(list(arguments))
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return status, out, err


@pytest.mark.slow
def test_all_cases_in_one_call(capsys, tmp_path):
    wanted = cases.load("hands")
    path = tmp_path / "hands.jsonl"
    path.write_text("\n".join(map(json.dumps, wanted)) + "\n", encoding="utf-8")
    status, out, _ = _run(capsys, "score", "--jsonl", str(path))
    found = [json.loads(line) for line in out.splitlines()]
    assert status == 0 and len(found) == len(wanted)
    for case, row in zip(wanted, found, strict=True):
        assert row == {"id": case["id"], "tai": case["expected_tai"], "total": case["total"]}


BASE = cases.load("hands")[0]


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"win_tile": "5m"}, "Not a winning hand with 5m: it waits for E."),
        ({"concealed": BASE["concealed"][1:]}, "15 concealed tiles and 0 meld(s); 16 tiles"),
        ({"concealed": ["E"] * 16}, "17 of E; there are 4"),
        ({"concealed": ["0m", *BASE["concealed"][1:]]}, "'0m' is not one tile"),
        ({"concealed": "123m"}, "`concealed` is a list"),
        ({"melds": ["chi:[1m2m4m]"]}, "no chow"),
        ({"melds": ["pon:[EEEE]"]}, "no pong"),
        ({"melds": ["riichi:[EEE]"]}, "melds is one of"),
        ({"win_by": "ron"}, "win_by is one of self_draw, discard, rob_kong"),
        ({"win_by": "rob_kong"}, "shows all four E; this hand holds 1"),
        ({"flags": ["sleepy"]}, "flags is one of"),
        ({"flags": ["heavenly"]}, "heavenly: won by self_draw"),
        ({"flags": ["heavenly"], "win_by": "self_draw"}, "heavenly: only the dealer"),
        ({"flags": ["human", "earthly"]}, "at once"),
        ({"flags": ["after_kong"], "win_by": "self_draw"}, "neither a kong nor a flower"),
        ({"flags": ["after_kong"]}, "won with by self_draw"),
        ({"flags": ["discarder_is_dealer"], "win_by": "self_draw"}, "no discarder"),
        ({"flags": ["tianting"]}, "do not know it"),
        ({"flowers": ["f1"]}, "n_flowers=8"),
        ({"flowers": ["f9"]}, "f1 to f8"),
        ({"seat_wind": "X"}, "seat_wind is a wind"),
        ({"dealer": 1}, "`dealer` is true or false"),
        ({"dealer_streak": -1}, "0 or more"),
        ({"dealer_streak": 2**31}, "1000 at most"),
        ({"options": {"ziyse": 16}}, "did you mean 'ziyise'"),
        ({"options": {"ziyise": "16"}}, "ziyise"),
        ({"win_tile": None}, "`win_tile` is a tile"),
    ],
)
def test_a_line_that_is_wrong_says_so(change, reason, capsys, monkeypatch):
    text = json.dumps(BASE | change).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    status, out, _ = _run(capsys, "score", "--jsonl", "-")
    row = json.loads(out)
    assert status == 1 and row["id"] == BASE["id"] and reason in row["error"]
    assert set(row) == {"id", "error"}


def test_the_rest_goes_on_in_order(capsys, tmp_path):
    path = tmp_path / "hands.jsonl"
    rows = [b"nonsense", json.dumps(BASE).encode(), b"\xff", b"[1]", b'{"id": 7}', b"[" * 10**5]
    path.write_bytes(b"\n".join([*rows, json.dumps(BASE | {"id": None}).encode()]))
    status, out, _ = _run(capsys, "score", "--jsonl", str(path))
    found = [json.loads(line) for line in out.splitlines()]
    assert status == 1
    assert [row["id"] for row in found] == [None, BASE["id"], None, None, 7, None, None]
    assert ["error" in row for row in found] == [True, False, True, True, True, True, False]
    assert "`concealed` is missing" in found[4]["error"]


HAND = "23m 456p 789s EEE 55m chi:[1m2m3m] win:4m"


@pytest.mark.parametrize(
    "text, lines",
    [
        # An open hand on a discard: the round wind alone, 1000 + 500 * 1.
        (HAND, ["round wind 圈風", "   1  tai in all", "the discarder pays 1500"]),
        # Self-drawn by a non-dealer: 2 tai and the dealer's 1: 2500 and 2000.
        (f"{HAND} zimo", ["self-draw 自摸", "the dealer pays 2500, the two others 2000 each"]),
        # The dealer, streak 2: zimo, round and seat wind 3, and 1 + 4: 1000 + 500 * 8.
        (f"{HAND} self-draw dealer streak: 2", ["   8  tai in all", "others pays 5000"]),
        # All 17 tiles written; 234m 456p 789s EEE CCC 55m, concealed: 門清, E and C.
        ("234m,456p 789s EEE CCC 55m win:4m", ["concealed hand 門清", "red dragon", "   3  tai"]),
        ("11m 99p 234p 567p 234s chow:456m win:1m base=100 unit=10", ["屁胡", "pays 100"]),
    ],
)
def test_a_hand_in_text(text, lines, capsys):
    status, out, err = _run(capsys, "score", *text.split(" "))
    assert status == 0 and not err
    for line in lines:
        assert line in out


@pytest.mark.parametrize(
    "text, reason",
    [
        ("23m 456p", "Say which tile won"),
        (f"{HAND} win:5m", "comes twice"),
        (f"{HAND} zimo ron", "won in one way"),
        (f"{HAND} slef_draw", "did you mean 'self_draw'"),
        (f"{HAND} haet:S", "did you mean"),
        (f"{HAND} ziyse=16", "did you mean 'ziyise'"),
        (f"{HAND} heavenly", "this hand has melds"),
        (f"{HAND} streak:x", "whole number"),
        (f"{HAND} rules:nobody", "nobody"),
    ],
)
def test_text_that_is_wrong_says_so(text, reason, capsys):
    status, out, err = _run(capsys, "score", text)
    assert status == 1 and not out and err.startswith("error: ") and reason in err


def test_score_wants_a_hand_or_a_file(capsys):
    for arguments in (["score"], ["score", "E", "--jsonl", "-"], ["score", "--jsonl", "no/file"]):
        with pytest.raises(SystemExit) as stopped:
            command.main(arguments)
        assert stopped.value.code == 2
    assert "score" in capsys.readouterr().err


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Writes two hands, the second with a winner."""
    hands = [play_reference(seed) for seed in (0, 7)]
    names = ("wall", "dealer", "round_wind", "streak")
    first = replay.deal([{n: getattr(hand, n) for n in names} for hand in hands], DEFAULT)
    path = tmp_path_factory.mktemp("records") / "hands.jsonl"
    rows = []
    for lane, hand in enumerate(hands):
        one = jax.tree.map(lambda x, i=lane: x[i], first)
        rows.append(list(record.lines(one, jax.numpy.array(hand.actions), DEFAULT, list("abcd"))))
    second = [row.replace('"hand": 1', '"hand": 2') for row in rows[1][1:-1]]
    record.write_file(path, [*rows[0][:-1], *second, '{"type": "end", "hands": 2}'])
    return path


def test_replay_prints_all_steps(file, capsys):
    status, out, _ = _run(capsys, "replay", str(file), "--all")
    assert status == 0 and "hand 1" in out and "hand 2" in out
    assert "seat 0 (a) discards" in out and "points" in out
    _, one, _ = _run(capsys, "replay", str(file), "--all", "--hand", "2")
    whole, part = (re.sub(r"\[\d+/\d+\]", "", text) for text in (out, one))
    assert "hand 1" not in part and whole.endswith(part)


def test_replay_shows_a_seat_no_more_than_it_sees(file, capsys):
    _, out, _ = _run(capsys, "replay", str(file), "--all", "--seat", "1")
    drawn = [line for line in out.splitlines() if " draws " in line]
    assert any(line.startswith("seat 0") for line in drawn)
    assert all(line.endswith("a tile") for line in drawn if not line.startswith("seat 1"))
    assert out.count(" tiles)") == 3 * out.count("to draw")


def test_replay_by_keys(file, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    keys = iter(["", "", "b", "5", "x", "0", "b", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(keys))
    status, out, _ = _run(capsys, "replay", str(file))
    shown = [line.split("/")[0] for line in out.splitlines() if line.startswith("[")]
    assert status == 0 and shown == ["[1", "[2", "[3", "[2", "[5", "[4"]
    assert out.count("a number from 1 to") == 2

    def ends(prompt):
        raise EOFError

    monkeypatch.setattr("builtins.input", ends)
    assert _run(capsys, "replay", str(file))[0] == 0


def test_replay_of_a_bad_record_is_one_line(file, capsys, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(file.read_text(encoding="utf-8")[:3000], encoding="utf-8")
    for arguments in ([str(bad)], [str(tmp_path / "none")], [str(file), "--hand", "3"]):
        status, out, err = _run(capsys, "replay", *arguments)
        assert status == 1 and not out and err.startswith("error: ") and err.count("\n") == 1


def _play(capsys, monkeypatch, answer, *arguments):
    """Plays against `random`; `answer(moves)` gives what is typed."""
    printed = []
    monkeypatch.setattr("builtins.print", lambda *a, **k: printed.append(" ".join(map(str, a))))

    def typed(prompt):
        shown = next(text for text in reversed(printed) if "moves: " in text)
        return answer(shown.rpartition("moves: ")[2].split(", "))

    monkeypatch.setattr("builtins.input", typed)
    status = command.main(["play", "--agent", "random", "--seed", "3", *arguments])
    return status, printed


@pytest.mark.slow
def test_a_hand_is_played_and_recorded(capsys, monkeypatch, tmp_path):
    path = tmp_path / "hand.jsonl"
    said = []

    def answer(moves):
        said.append(len(said) % 2)
        return "nonsense" if said[-1] else moves[-1].upper()

    status, printed = _play(capsys, monkeypatch, answer, "--record", str(path))
    assert status == 0
    assert any("'nonsense' is not among" in text for text in printed)
    tables = [text for text in printed if "tiles to draw" in text]
    assert all(text.count(" tiles)") == 3 for text in tables)
    (hand,) = record.read_file(path)
    assert hand.names == ("you", "random", "random", "random")
    points = ", ".join(f"{n:+d}" for n in hand.events[-1]["points"])
    assert points in printed[-1]


def test_play_ends_with_its_input(capsys, monkeypatch):
    def ends(moves):
        raise EOFError

    status, printed = _play(capsys, monkeypatch, ends)
    assert status == 0 and "not finished" in printed[-1]


def test_play_says_what_is_missing(capsys, monkeypatch, tmp_path):
    assert "nobody" in _run(capsys, "play", "--agent", "nobody")[2]
    assert "folder" in _run(capsys, "play", "--record", str(tmp_path / "no" / "file"))[2]
    assert "nobody" in _run(capsys, "play", "--rules", "nobody")[2]

    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(command.importlib, "import_module", missing)
    assert "needs the package `agents`" in _run(capsys, "play")[2]
