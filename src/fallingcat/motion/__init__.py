"""Motions: states at times with splines between them (`Trajectory`), and how a change of shape moves the base."""

from __future__ import annotations

from fallingcat.motion.trajectory import Trajectory

__all__ = ["Trajectory"]
