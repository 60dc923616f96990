"""Hand strings: read, written, and refused."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from mjx import tiles

counts34 = some.lists(some.integers(0, 4), min_size=34, max_size=34)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(counts34)
def test_parse_reads_what_format_writes(counts):
    text = tiles.format(counts)
    assert tiles.parse(text) == tuple(counts)
    assert tiles.format(tiles.parse(text)) == text


@settings(max_examples=200, deadline=None, derandomize=True)
@given(counts34, some.randoms(use_true_random=False))
def test_order_and_blanks_do_not_matter(counts, rng):
    names = [name for name, count in zip(tiles.NAMES, counts, strict=True) for _ in range(count)]
    rng.shuffle(names)
    assert tiles.parse("".join(names)) == tuple(counts)
    assert tiles.parse(" \t\n".join(names)) == tuple(counts)
    assert tiles.parse_kinds("".join(names)) == tuple(tiles.NAMES.index(n) for n in names)


def test_kinds_are_numbered_as_documented():
    assert tiles.parse_kinds("123456789m") == tuple(range(9))
    assert tiles.parse_kinds("123456789p") == tuple(range(9, 18))
    assert tiles.parse_kinds("123456789s") == tuple(range(18, 27))
    assert tiles.parse_kinds("ESWNCFP") == tuple(range(27, 34))
    assert (tiles.EAST, tiles.SOUTH, tiles.WEST, tiles.NORTH) == tiles.parse_kinds("ESWN")
    assert (tiles.RED, tiles.GREEN, tiles.WHITE) == tiles.parse_kinds("CFP")
    assert (tiles.NUM_KINDS, tiles.NUM_TILES, len(tiles.NAMES)) == (34, 136, 34)


def test_z_digits_are_the_honours_in_their_order():
    assert tiles.parse_kinds("1234567z") == tiles.parse_kinds("ESWNCFP")
    assert tiles.parse("11z 55z") == tiles.parse("EECC")


def test_format_of_an_example():
    assert tiles.format(tiles.parse("P 5p E 31m 2m CWF 5p N S")) == "123m55pESWNCFP"
    assert tiles.format([0] * 34) == ""


@pytest.mark.parametrize("kind", range(34))
def test_glyph_is_the_picture_of_its_kind(kind):
    picture, selector = tiles.glyph(kind)
    assert selector == "\N{VARIATION SELECTOR-15}"
    rank = ["ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE"]
    suits = ("CHARACTERS", "CIRCLES", "BAMBOOS")
    honours = "EAST WIND,SOUTH WIND,WEST WIND,NORTH WIND,RED DRAGON,GREEN DRAGON,WHITE DRAGON"
    name = (
        honours.split(",")[kind - 27] if kind >= 27 else f"{rank[kind % 9]} OF {suits[kind // 9]}"
    )
    assert unicodedata.name(picture) == f"MAHJONG TILE {name}"


@pytest.mark.parametrize(
    "text, said",
    [
        ("12x", "'x' at position 2 of '12x'"),
        ("5M", "'M' at position 1"),
        ("12", "'12' ends in digits without a suit"),
        ("1m2", "ends in digits without a suit"),
        ("m", "'m' at position 0 of 'm' has no digits before it"),
        ("1mp", "'p' at position 2 of '1mp' has no digits"),
        ("0m", "ranks before 'm' are 1 to 9, got [0]"),
        ("18z", "ranks before 'z' are 1 to 7, got [1, 8]"),
        ("1E", "'E' at position 1 of '1E'"),
        ("e", "'e' at position 0"),
        ("1m,2m", "',' at position 2"),
        ("-1m", "'-' at position 0"),
        ("²m", "'²' at position 0"),
        ("１m", "'１' at position 0"),
        ("🀇", "at position 0"),
        ("11111m", "'11111m' holds 5 of 1m; there are 4."),
        ("EEE 1z EE", "holds 6 of E; there are 4."),
    ],
)
def test_bad_strings_say_what_is_wrong(text, said):
    for read in (tiles.parse, tiles.parse_kinds):
        with pytest.raises(ValueError, match=re.escape(said)):
            read(text)


@pytest.mark.parametrize("text", ["12x", "1E"])
def test_bad_letters_say_what_is_allowed(text):
    with pytest.raises(ValueError, match="a hand is digits 1-9 before m, p or s, digits 1-7"):
        tiles.parse(text)


@pytest.mark.parametrize("text", [None, 5, ["1m"], b"1m"])
def test_what_is_no_string_is_refused(text):
    with pytest.raises(ValueError, match=f"not {type(text).__name__}"):
        tiles.parse(text)


@pytest.mark.parametrize(
    "counts", [[], [0] * 33, [0] * 35, [5] + [0] * 33, [-1] + [0] * 33, range(34)]
)
def test_format_refuses_what_is_no_hand(counts):
    with pytest.raises(ValueError, match="34 counts of 0 to 4"):
        tiles.format(counts)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(some.text(alphabet="0123456789mpszESWNCFP x", max_size=12))
def test_any_string_is_read_or_refused(text):
    try:
        counts = tiles.parse(text)
    except ValueError as refusal:
        assert str(refusal)
    else:
        assert max(counts) <= 4 and tiles.parse(tiles.format(counts)) == counts
