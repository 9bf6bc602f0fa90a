"""The report of a robot: what it is, what its dynamics are, and whether they agree with themselves.

`measure` computes; `plain`, `terminal` and `page` present and compute nothing.
"""
