"""Terminals, as commands know them."""

TERMINAL = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS")
"""Environment variables that tell the commands that they write to one."""
