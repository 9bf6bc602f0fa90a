"""Tracing: from an algorithm run on symbols to a program."""

from fallingcat.trace.interpret import interpret as interpret
from fallingcat.trace.program import Program as Program
from fallingcat.trace.program import trace as trace
