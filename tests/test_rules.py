"""The rules of a table: defaults, refusals, and use as a static argument."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjx.rules import DEFAULT, PRESETS, Rules, parse
from mjx.score.payments import ALL_PAY, payments
from tests.oracle.rules import PRESETS as REFERENCE_PRESETS
from tests.oracle.rules import Rules as Reference

FIELDS = {field.name: field.default for field in dataclasses.fields(Rules)}
WORDS = {
    "hand_tiles": (16, 13),
    "n_flowers": (0, 8),
    "seat_wind_mode": ("dealer_east", "wall_break"),
    "hand_mode": ("single", "match"),
    "wall_mode": ("shared", "stable_draw"),
    "guoshui": ("strict", "until_discard", "ron_only", "off"),
    "swap_calling": ("none", "same", "same_and_suji"),
}
FLAGS = [name for name, default in FIELDS.items() if isinstance(default, bool)]
NUMBERS = [name for name in FIELDS if name not in WORDS and name not in FLAGS]
HIGHEST = {"reserve": 71, "base": 100_000, "unit": 100_000}


def test_fields_and_defaults_are_those_of_the_reference():
    assert FIELDS == {field.name: field.default for field in dataclasses.fields(Reference)}
    assert Rules() == DEFAULT


def other(name):
    """Gives a value in range that is not the default."""
    if name in WORDS:
        return WORDS[name][1]
    if name in FLAGS:
        return not FIELDS[name]
    return 3 if FIELDS[name] != 3 else 4


@pytest.mark.parametrize("name", FIELDS)
def test_default_may_be_given(name):
    assert Rules(**{name: FIELDS[name]}) == DEFAULT


@pytest.mark.parametrize("name", FIELDS)
def test_any_field_can_be_set(name):
    rules = Rules(**{name: other(name)})
    assert getattr(rules, name) == other(name)
    assert rules != DEFAULT and rules == Rules(**{name: other(name)})
    assert hash(rules) == hash(Rules(**{name: other(name)}))


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("value", [None, "other", 17, True, 16.5])
def test_choice_out_of_range_is_refused(name, value):
    with pytest.raises(ValueError, match=rf"Rules\.{name} is one of \("):
        Rules(**{name: value})


@pytest.mark.parametrize("name", WORDS)
def test_every_other_choice_is_known(name):
    for value in WORDS[name][1:]:
        assert getattr(Rules(**{name: value}), name) == value


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", [None, 0, 1, "True", np.bool_(True)])
def test_flag_that_is_no_bool_is_refused(name, value):
    with pytest.raises(ValueError, match=rf"Rules\.{name} is True or False, not"):
        Rules(**{name: value})


@pytest.mark.parametrize("name", NUMBERS)
def test_number_out_of_range_or_of_another_type_is_refused(name):
    highest = HIGHEST.get(name, 100)
    wrong = [-1, highest + 1, 1.0, "1", True, [1], np.int32(1), float("nan")]
    if name not in ("tai_cap", "streak_cap"):
        wrong.append(None)
    for value in wrong:
        with pytest.raises(
            ValueError, match=rf"Rules\.{name} is a whole number from 0 to {highest}"
        ):
            Rules(**{name: value})


@pytest.mark.parametrize("name", NUMBERS)
def test_ends_of_a_range_are_allowed(name):
    for value in (0, HIGHEST.get(name, 100)):
        assert getattr(Rules(**{name: value}), name) == value


def test_presets_are_those_of_the_reference():
    for name, rules in PRESETS.items():
        assert dataclasses.asdict(rules) == dataclasses.asdict(REFERENCE_PRESETS[name]), name


def test_unknown_field_and_change_are_refused():
    with pytest.raises(TypeError, match="no_such_rule"):
        Rules(no_such_rule=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        DEFAULT.base = 1
    with pytest.raises(ValueError, match="base"):
        dataclasses.replace(DEFAULT, base=-1)


def test_static_under_jit():
    """Equal rules share a program, others get their own."""
    traced = []

    def pay(tai, rules):
        traced.append(rules)
        winner, payer, dealer, streak = (jnp.int32(n) for n in (1, ALL_PAY, 0, 0))
        return payments(tai, winner, payer, dealer, streak, rules)

    jitted = jax.jit(pay, static_argnames="rules")
    # Three tai self-drawn: 1000 + 3 * 500 of each, and the dealer one tai more.
    assert list(jitted(jnp.int32(3), rules=Rules())) == [-3000, 8000, -2500, -2500]
    for _ in range(2):
        points = jitted(jnp.int32(3), rules=Rules(base=0, unit=1))
        assert list(points) == [-4, 10, -3, -3]
    assert list(jitted(jnp.int32(0), rules=DEFAULT)) == [-1500, 3500, -1000, -1000]
    assert traced == [Rules(), Rules(base=0, unit=1)]
    assert {Rules(): 1}[DEFAULT] == 1


def test_tables_are_read_from_text():
    assert parse("") == parse("AT") == DEFAULT
    assert parse("star31,reserve=0, tai_cap=81") == dataclasses.replace(
        PRESETS["star31"], reserve=0, tai_cap=81
    )
    assert parse("tai_cap=none,pinghu_with_menqing=false").pinghu_with_menqing is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wann", "No rules are named 'wann'; there are AT, star31"),
        ("reserv=0", "did you mean 'reserve'"),
        ("reserve=many", "Rules.reserve is a whole number from 0 to 71, not 'many'"),
        ("reserve=-1", "not -1"),
        ("multi_ron=1", "Rules.multi_ron is True or False, not 1"),
        ("reserve=1,wan", "field=value, not 'wan'"),
    ],
)
def test_a_text_that_is_no_table_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse(text)


@pytest.mark.parametrize("fields", [{"hand_tiles": 16.0}, {"n_flowers": 8.0}, {"n_flowers": False}])
def test_a_choice_of_another_type_is_refused(fields):
    with pytest.raises(ValueError, match="is one of"):
        Rules(**fields)
