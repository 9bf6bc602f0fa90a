"""The report of a robot: its description, its dynamics, and checks of identities of mechanics.

`measure` computes; `plain`, `terminal` and `page` present and compute nothing.
"""
