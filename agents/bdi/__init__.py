"""The BDI robot: belief, desire, intention, after Xu and Zhu (2017); see docs/bdi.md."""
