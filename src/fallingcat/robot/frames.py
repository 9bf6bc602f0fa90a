"""The methods of a robot for its frames: links, and joints that are not named like a link."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.frames import place_of
from fallingcat.choices import NO_HASH
from fallingcat.errors import InputError
from fallingcat.functions import task
from fallingcat.model.joints import Representation
from fallingcat.robot.runner import Part, check_frame, check_options
from fallingcat.robot.wrenches import KEPT
from fallingcat.task import Output, Task

Array = NDArray[np.float64]

ROWS = 128
"""States per run of a function of all frames, if only some frames are wanted: bounds the memory for the others."""


class Frames(Part):
    """The part of `Robot` that is about frames."""

    def frame_pose(self, q: ArrayLike, frame: str, *, out: Array | None = None) -> Array:
        """The pose of a frame in the world, (..., 4, 4). Another frame compiles nothing."""
        try:
            place = self._places[frame]
        except (KeyError, *NO_HASH):
            check_frame(frame)
            place = self._places[frame] = np.array(place_of(self.model.frame(frame)))
        return self._run("pose_of_place", (q, place), out)

    def frame_poses(self, q: ArrayLike, frames: Iterable[str] | None = None, *, out: Array | None = None) -> Array:
        """The poses of k frames in the world, (..., k, 4, 4); of all `frame_names` when None. One compiled function for all."""
        return self._of_frames("frame_poses", (q,), frames, out)

    def frame_velocities(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        frames: Iterable[str] | None = None,
        representation: Representation = "body",
        *,
        out: Array | None = None,
    ) -> Array:
        """The twists of k frames, (..., k, 6); of all `frame_names` when None."""
        return self._of_frames("frame_velocities", (q, nu), frames, out, representation=representation)

    def frame_jacobians(
        self,
        q: ArrayLike,
        frames: Iterable[str] | None = None,
        representation: Representation = "body",
        *,
        out: Array | None = None,
    ) -> Array:
        """The Jacobians of k frames, (..., k, 6, nv); of all `frame_names` when None."""
        return self._of_frames("frame_jacobians", (q,), frames, out, representation=representation)

    def frame_jacobian(
        self, q: ArrayLike, frame: str, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """J with twist = J nu, (..., 6, nv). `representation` names the twist and the base twist in nu (paper 004, eq. 10)."""
        return self._run("frame_jacobian", (q,), out, frame=frame, representation=representation)

    def frame_jacobian_rate(
        self, q: ArrayLike, nu: ArrayLike, frame: str, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """The rate of `frame_jacobian` along nu, (..., 6, nv)."""
        return self._run("frame_jacobian_rate", (q, nu), out, frame=frame, representation=representation)

    def frame_velocity(
        self, q: ArrayLike, nu: ArrayLike, frame: str, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """The twist of a frame, (..., 6)."""
        return self._run("frame_velocity", (q, nu), out, frame=frame, representation=representation)

    def frame_acceleration(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        dnu: ArrayLike,
        frame: str,
        representation: Representation = "body",
        *,
        out: Array | None = None,
    ) -> Array:
        """The rate of `frame_velocity`, (..., 6). With "mixed", the linear part is the acceleration of the origin."""
        return self._run("frame_acceleration", (q, nu, dnu), out, frame=frame, representation=representation)

    def _of_frames(self, name: str, values: tuple[Any, ...], frames: Iterable[str] | None, out: Any, **options: Any) -> Array:
        """The result of a function of all frames, for some of them; large batches run in pieces, to bound memory."""
        if frames is None:
            return self._run(name, values, out, **options)
        chosen = self._numbers_of(name, frames)
        check_options(self.model, name, options)
        if out is None and all(type(v) is np.ndarray and v.ndim == 1 for v in values):
            one: Array = self._run(name, values, None, **options)
            return one[chosen]
        made = task(self.model, name, **options)
        (whole,) = made.outputs
        batch = self._prepare(made, values, check=False)
        wanted = Task(name, made.inputs, (Output(whole.name, (len(chosen), *whole.shape[1:])),), len)
        (result,) = self._results(wanted, batch.shape, out)
        if batch.count <= ROWS:
            found: Any = self._run(name, values, None, **options)
            result[...] = found[(..., chosen, *[slice(None)] * (len(whole.shape) - 1))]
        else:
            flat = np.empty((batch.count, *wanted.outputs[0].shape))
            for where, pieces in batch.chunks():
                for k in range(0, where.stop - where.start, ROWS):
                    found = self._run(name, tuple(piece[k : k + ROWS] for piece in pieces), None, **options)
                    flat[where.start + k : where.start + k + ROWS][: len(found)] = found[:, chosen]
            result[...] = flat.reshape(result.shape)
        return result if out is None else out

    def _numbers_of(self, name: str, frames: Any) -> NDArray[np.intp]:
        """The indices of frames among all frames."""
        if type(frames) is tuple or type(frames) is list:
            try:
                return self._chosen[tuple(frames)]
            except (KeyError, *NO_HASH):
                pass
        if isinstance(frames, str) or not isinstance(frames, Iterable):
            hint = f"as in frames=[{frames!r}]" if isinstance(frames, str) else "None stands for all of them"
            raise InputError(f"{name}: frames is not a list of names", got=repr(frames), hint=hint)
        order = {frame: k for k, (frame, _) in enumerate(self.model.frames)}
        chosen = list(frames)
        for frame in chosen:
            check_frame(frame)
            self.model.frame(frame)
        if len(self._chosen) >= KEPT:
            self._chosen.clear()
        numbers = self._chosen[tuple(chosen)] = np.array([order[frame] for frame in chosen], dtype=np.intp)
        return numbers
