"""The tests; `oracle` is the reference that they compare with."""
