"""A slow, plain-Python reference of the game and its scorer; shares no code with `mjx`.

From the ground up: `tiles` and `rules`; `hand` (complete hands, waits, deficiency) and `score`
(tai, payments); `actions`, `wall`, `legal` and `game` (one hand of play), `match` (the whole
game). For tests: `cases` reads the case files, `walls` builds walls, `scripts` plays games written
down as words, `scenes` holds the situations that random play hardly meets.
"""
