"""The ids of actions."""

DISCARD = 0  # + kind
CONCEALED_KONG = 34  # + kind
ADDED_KONG = 68  # + kind
CHOW_LOW = 102  # the claimed tile is the lowest of the run
CHOW_MIDDLE = 103
CHOW_HIGH = 104
PONG = 105
OPEN_KONG = 106
WIN = 107
PASS = 108
DECLARE = 109  # ready at the deal or with the first discard; an option


def chow_lowest(action: int, kind: int) -> int:
    """Gives the lowest kind of the run that a chow action makes with the claimed kind."""
    return kind - (action - CHOW_LOW)
