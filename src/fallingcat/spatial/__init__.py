"""Spatial algebra over any scalar: rotations, transforms, twists, wrenches, inertias."""

from fallingcat.spatial.inertia import ArticulatedInertia as ArticulatedInertia
from fallingcat.spatial.inertia import Inertia as Inertia
from fallingcat.spatial.rotation import AxisRotation as AxisRotation
from fallingcat.spatial.rotation import MatrixRotation as MatrixRotation
from fallingcat.spatial.rotation import Rotation as Rotation
from fallingcat.spatial.rotation import axis_rotation as axis_rotation
from fallingcat.spatial.transform import Transform as Transform
from fallingcat.spatial.vectors import Force as Force
from fallingcat.spatial.vectors import Frame as Frame
from fallingcat.spatial.vectors import Motion as Motion
from fallingcat.spatial.vectors import Subspace as Subspace
