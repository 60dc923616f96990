"""What the settings of any run refuse."""

import math

_NAME_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."


def check_name(name: str) -> None:
    """Refuses what is no name of a folder.

    Raises:
      ValueError: says what is allowed.
    """
    if not name or set(name) - set(_NAME_LETTERS) or name[0] == ".":
        raise ValueError(f"name: letters, digits, '-', '_' and '.' only, not {name!r}.")


def check_within(path: str, value: float, low: float, high: float) -> None:
    """Refuses a number outside [low, high], and NaN.

    Raises:
      ValueError: says what is allowed.
    """
    if isinstance(value, bool) or math.isnan(value) or not low <= value <= high:
        raise ValueError(f"{path}: from {low:g} to {high:g}, not {value}.")
