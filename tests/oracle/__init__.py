"""A slow, plain-Python reference of the game and its scorer; shares no code with `mjx`."""
