"""A robot as a file: what was loaded, built or re-based, so that reading it gives the same robot."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from fallingcat import files
from fallingcat.model.description import Description, Vector, Visual
from fallingcat.model.meshes import find_mesh
from fallingcat.model.model import Model
from fallingcat.model.resolved import resolved


class Writing:
    """Files of a robot."""

    description: Description
    model: Model
    _options: dict[str, Any]

    def to_urdf(self, path: str | os.PathLike[str]) -> Path:
        """Write the robot as URDF: `fc.load(path)` gives the same mass matrix.

        Locked joints become fixed ones, the base becomes the root, joints stand in the order of `joint_names`. Joints that URDF
        does not have (helical, cylindrical, universal, spherical) are written as this library reads them. Inputs and constraints
        of MJCF have no place in URDF, nor have loops of `fc.Builder`, which a warning names. Names such as package://... of
        meshes stay; other paths are written in full.
        """
        from fallingcat.model.urdf_writer import urdf_text

        robot = self._resolved()
        self._warn_of_loops("to_urdf")
        return files.write(Path(path), urdf_text(robot, self.model.floating, self._gravity(), self._mesh_file))

    def to_mjcf(self, path: str | os.PathLike[str], meshes: bool = False) -> Path:
        """Write the robot as MJCF, for MuJoCo and for `fc.load(path, joints=robot.joint_names)`.

        MuJoCo orders joints along the tree, so that the order of q may be another one. Joints that follow others are equality
        constraints there, and follow when they are read back here. There are no planar joints in MuJoCo, no moving bodies without
        mass, and no inertias that no body could have: those are refused. Loops of `fc.Builder` are not written; a warning names
        them.

        meshes: write STL and OBJ meshes as well, by their full paths; MuJoCo refuses some that viewers show.
        """
        from fallingcat.model.mjcf_writer import mjcf_text

        self._warn_of_loops("to_mjcf")
        text = mjcf_text(self._resolved(), self.model.floating, self._gravity(), self._found_mesh if meshes else None)
        return files.write(Path(path), text)

    def _warn_of_loops(self, method: str) -> None:
        if self.description.loops:
            names = ", ".join(map(str, self.description.loops))
            warnings.warn(f"{method}: loops are not written: {names}; give them to robot.constraints(...)", stacklevel=3)

    def _resolved(self) -> Description:
        options = self._options
        return resolved(self.description, self.model.base, options["joints"], options["lock"])

    def _gravity(self) -> Vector:
        return self.model.gravity

    def _mesh_file(self, visual: Visual) -> str:
        """A mesh's file name: package:// and model:// stay; other paths become absolute, as the new file may be elsewhere."""
        if visual.file.startswith(("package://", "model://")):
            return visual.file
        return self._found_mesh(visual)

    def _found_mesh(self, visual: Visual) -> str:
        found = find_mesh(self.description, visual.file)
        return visual.file if found is None else str(found.absolute())
