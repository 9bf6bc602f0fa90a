"""The same robot in other libraries, behind one face: what the tests of the converters ask of each.

Every peer takes and gives its own library's vectors; names and conventions of the libraries end here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, Protocol
from xml.etree import ElementTree

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import converters
from trees import Array

GRAVITY = np.array([0.0, 0.0, -9.81])


def urdf_text(name: str) -> str:
    """A bundled robot's file."""
    return resources.files("fallingcat").joinpath("model", "robots", f"{name}.urdf").read_text()


def with_origins(text: str) -> str:
    """The same URDF with every origin written out: adam does not know that it may be left out."""
    root = ElementTree.fromstring(text)
    for element in [*root.iter("inertial"), *root.iter("joint")]:
        origin = element.find("origin")
        if origin is None:
            origin = ElementTree.SubElement(element, "origin")
        origin.attrib.setdefault("xyz", "0 0 0")
        origin.attrib.setdefault("rpy", "0 0 0")
    return ElementTree.tostring(root, encoding="unicode")


class Peer(Protocol):
    """A robot in another library."""

    joint_names: list[str]
    convert: Callable[..., converters.Converter]

    def pose(self, q: Any, link: str) -> Array: ...
    def velocity(self, q: Any, v: Array, link: str) -> Array: ...  # mixed: linear, angular
    def kinetic_energy(self, q: Any, v: Array) -> float: ...
    def mass_matrix(self, q: Any) -> Array: ...
    def inverse_dynamics(self, q: Any, v: Array, a: Array) -> Array: ...
    def gravity(self, q: Any) -> Array: ...


class Pinocchio:
    convert = staticmethod(converters.pinocchio)

    def __init__(self, text: str, floating: bool) -> None:
        self.pin = pin = pytest.importorskip("pinocchio", reason="pip install pin")
        self.model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromXML(text)
        self.data = self.model.createData()
        self.joint_names = list(self.model.names)

    def pose(self, q: Array, link: str) -> Array:
        self.pin.framesForwardKinematics(self.model, self.data, q)
        return np.array(self.data.oMf[self.model.getFrameId(link)].homogeneous)

    def velocity(self, q: Array, v: Array, link: str) -> Array:
        self.pin.forwardKinematics(self.model, self.data, q, v)
        frame = self.model.getFrameId(link)
        return np.array(self.pin.getFrameVelocity(self.model, self.data, frame, self.pin.LOCAL_WORLD_ALIGNED).vector)

    def kinetic_energy(self, q: Array, v: Array) -> float:
        return float(self.pin.computeKineticEnergy(self.model, self.data, q, v))

    def mass_matrix(self, q: Array) -> Array:
        M = np.triu(self.pin.crba(self.model, self.data, q))
        return np.array(M + np.triu(M, 1).T)

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        return np.array(self.pin.rnea(self.model, self.data, q, v, a))

    def gravity(self, q: Array) -> Array:
        return np.array(self.pin.computeGeneralizedGravity(self.model, self.data, q))

    def step(self, q: Array, v: Array, tau: Array, dt: float) -> tuple[Array, Array]:
        v = v + dt * self.pin.aba(self.model, self.data, q, v, tau)
        return np.array(self.pin.integrate(self.model, q, dt * v)), v


class Mujoco:
    convert = staticmethod(converters.mujoco)

    def __init__(self, text: str, floating: bool) -> None:
        self.mj = mj = pytest.importorskip("mujoco", reason="pip install mujoco")
        spec = mj.MjSpec.from_string(text)
        spec.compiler.fusestatic = False
        if floating:
            spec.worldbody.first_body().add_freejoint()
        self._of(spec.compile())

    @classmethod
    def of(cls, spec: Any) -> Mujoco:
        """A robot that was built by hand."""
        made = cls.__new__(cls)
        made.mj = pytest.importorskip("mujoco", reason="pip install mujoco")
        made._of(spec.compile())
        return made

    def _of(self, model: Any) -> None:
        mj, self.model, self.data = self.mj, model, self.mj.MjData(model)
        model.dof_damping[:], model.dof_frictionloss[:] = 0.0, 0.0
        model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONTACT | mj.mjtDisableBit.mjDSBL_CONSTRAINT
        joints = [model.joint(k) for k in range(model.njnt)]
        self.joint_names = [joint.name for joint in joints if joint.type[0] != mj.mjtJoint.mjJNT_FREE]

    def _at(self, q: Array, v: Array | None = None) -> None:
        self.data.qpos, self.data.qvel = q, np.zeros(self.model.nv) if v is None else v
        self.mj.mj_forward(self.model, self.data)

    def pose(self, q: Array, link: str) -> Array:
        self._at(q)
        H = np.eye(4)
        H[:3, :3], H[:3, 3] = self.data.body(link).xmat.reshape(3, 3), self.data.body(link).xpos
        return H

    def velocity(self, q: Array, v: Array, link: str) -> Array:
        self._at(q, v)
        out, body = np.zeros(6), self.model.body(link).id
        self.mj.mj_objectVelocity(self.model, self.data, self.mj.mjtObj.mjOBJ_XBODY, body, out, 0)
        return np.roll(out, 3)

    def kinetic_energy(self, q: Array, v: Array) -> float:
        self._at(q, v)
        self.mj.mj_energyVel(self.model, self.data)
        return float(self.data.energy[1])

    def mass_matrix(self, q: Array) -> Array:
        self._at(q)
        M = np.zeros((self.model.nv, self.model.nv))
        self.mj.mj_fullM(self.model, self.data, M)
        return M

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        self._at(q, v)
        self.data.qacc = a
        self.mj.mj_inverse(self.model, self.data)
        return np.array(self.data.qfrc_inverse)

    def gravity(self, q: Array) -> Array:
        self._at(q)
        return np.array(self.data.qfrc_bias)

    def step(self, q: Array, v: Array, tau: Array, dt: float) -> tuple[Array, Array]:
        self._at(q, v)
        self.model.opt.timestep, self.data.qfrc_applied = dt, tau
        self.mj.mj_step(self.model, self.data)
        self.data.qfrc_applied = 0.0
        return np.array(self.data.qpos), np.array(self.data.qvel)


class Drake:
    convert = staticmethod(converters.drake)

    def __init__(self, text: str, floating: bool) -> None:
        plants = pytest.importorskip("pydrake.multibody.plant", reason="pip install drake")
        parsing = pytest.importorskip("pydrake.multibody.parsing", reason="pip install drake")
        self.plant = plant = plants.MultibodyPlant(0.0)
        (instance,) = parsing.Parser(plant).AddModelsFromString(text, "urdf")
        if not floating:
            root = plant.get_body(plant.GetBodyIndices(instance)[0])
            plant.WeldFrames(plant.world_frame(), root.body_frame())
        plant.Finalize()
        self.context = plant.CreateDefaultContext()
        moving = [j for j in map(plant.get_joint, plant.GetJointIndices()) if j.num_velocities() > 0]
        moving.sort(key=lambda joint: joint.velocity_start())
        self.joint_names = [j.name() for j in moving if not floating or j.parent_body() is not plant.world_body()]

    def _at(self, q: Array, v: Array | None = None) -> None:
        self.plant.SetPositions(self.context, q)
        self.plant.SetVelocities(self.context, np.zeros(self.plant.num_velocities()) if v is None else v)

    def pose(self, q: Array, link: str) -> Array:
        self._at(q)
        body = self.plant.GetBodyByName(link)
        return np.array(self.plant.EvalBodyPoseInWorld(self.context, body).GetAsMatrix4())

    def velocity(self, q: Array, v: Array, link: str) -> Array:
        self._at(q, v)
        twist = self.plant.EvalBodySpatialVelocityInWorld(self.context, self.plant.GetBodyByName(link))
        return np.concatenate([twist.translational(), twist.rotational()])

    def kinetic_energy(self, q: Array, v: Array) -> float:
        self._at(q, v)
        return float(self.plant.CalcKineticEnergy(self.context))

    def mass_matrix(self, q: Array) -> Array:
        self._at(q)
        return np.array(self.plant.CalcMassMatrix(self.context))

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        """Without the damping of the joints; Drake's gravity stands on the right of the equations of motion."""
        tree = pytest.importorskip("pydrake.multibody.tree", reason="pip install drake")
        self._at(q, v)
        nothing = tree.MultibodyForces(self.plant)
        gravity = self.plant.CalcGravityGeneralizedForces(self.context)
        return np.array(self.plant.CalcInverseDynamics(self.context, a, nothing) - gravity)

    def gravity(self, q: Array) -> Array:
        self._at(q)
        return np.array(-self.plant.CalcGravityGeneralizedForces(self.context))

    def step(self, q: Array, v: Array, tau: Array, dt: float) -> tuple[Array, Array]:
        h = self.inverse_dynamics(q, v, np.zeros_like(v))
        v = v + dt * np.linalg.solve(self.mass_matrix(q), tau - h)
        return q + dt * self.plant.MapVelocityToQDot(self.context, v), v


class Idyntree:
    convert = staticmethod(converters.idyntree)

    def __init__(self, text: str, floating: bool, base: str | None = None, representation: str = "mixed") -> None:
        self.idt = idt = pytest.importorskip("idyntree.swig", reason="pip install idyntree")
        self._loader = loader = idt.ModelLoader()  # owns the model
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "robot.urdf"
            path.write_text(text)
            assert loader.loadModelFromFile(str(path))
        self.model = model = loader.model()
        self.joint_names = [model.getJointName(k) for k in range(model.getNrOfJoints()) if model.getJoint(k).getNrOfDOFs()]
        self.kindyn = idt.KinDynComputations()
        assert self.kindyn.loadRobotModel(model)
        assert base is None or self.kindyn.setFloatingBase(base)
        self.kindyn.setFrameVelocityRepresentation(
            {
                "mixed": idt.MIXED_REPRESENTATION,
                "body": idt.BODY_FIXED_REPRESENTATION,
                "inertial": idt.INERTIAL_FIXED_REPRESENTATION,
            }[representation]
        )
        self.floating = floating

    def at(self, q: Any, v: Array | None = None) -> None:
        v = self._whole(np.zeros(len(q[1])) if v is None else v)
        assert self.kindyn.setRobotState(q[0], q[1], v[:6], v[6:], GRAVITY)

    def _whole(self, v: Array) -> Array:
        """iDynTree always has a floating base; a welded one stands still."""
        return v if len(v) == 6 + self.model.getNrOfDOFs() else np.concatenate([np.zeros(6), v])

    def _own(self, x: Any) -> Array:
        whole = np.concatenate([x.baseWrench().toNumPy(), x.jointTorques().toNumPy()])
        return whole if self.floating else whole[6:]

    def pose(self, q: Any, link: str) -> Array:
        self.at(q)
        return np.array(self.kindyn.getWorldTransform(link).asHomogeneousTransform().toNumPy())

    def velocity(self, q: Any, v: Array, link: str) -> Array:
        self.at(q, v)
        return np.array(self.kindyn.getFrameVel(link).toNumPy())

    def kinetic_energy(self, q: Any, v: Array) -> float:
        return float(v @ self.mass_matrix(q) @ v / 2)

    def mass_matrix(self, q: Any) -> Array:
        self.at(q)
        size = 6 + self.model.getNrOfDOFs()
        M = self.idt.MatrixDynSize(size, size)
        assert self.kindyn.getFreeFloatingMassMatrix(M)
        return np.array(M.toNumPy() if self.floating else M.toNumPy()[6:, 6:])

    def inverse_dynamics(self, q: Any, v: Array, a: Array) -> Array:
        self.at(q, v)
        a = self._whole(a)
        base, joints = self.idt.Vector6(), self.idt.JointDOFsDoubleArray(self.model)
        for k, x in enumerate(a):
            (base if k < 6 else joints).setVal(k if k < 6 else k - 6, float(x))
        none = self.idt.LinkWrenches(self.model)
        none.zero()
        out = self.idt.FreeFloatingGeneralizedTorques(self.model)
        assert self.kindyn.inverseDynamics(base, joints, none, out)
        return self._own(out)

    def bias(self, q: Any, v: Array) -> Array:
        self.at(q, v)
        out = self.idt.FreeFloatingGeneralizedTorques(self.model)
        assert self.kindyn.generalizedBiasForces(out)
        return self._own(out)

    def gravity(self, q: Any) -> Array:
        self.at(q)
        self.kindyn.getWorldTransform(self.kindyn.getFloatingBase())  # its gravity does not update the links by itself
        out = self.idt.FreeFloatingGeneralizedTorques(self.model)
        assert self.kindyn.generalizedGravityForces(out)
        return self._own(out)

    def matrix(self, name: str, rows: int, q: Any, *frame: str) -> Array:
        """A Jacobian, by the name of the method."""
        self.at(q)
        out = self.idt.MatrixDynSize(rows, 6 + self.model.getNrOfDOFs())
        arguments = [self.kindyn.getFrameIndex(frame[0])] if frame else []
        assert getattr(self.kindyn, name)(*arguments, out)
        return np.array(out.toNumPy())


class Adam:
    convert = staticmethod(converters.adam)

    def __init__(self, text: str, floating: bool, representation: str = "mixed") -> None:
        module = pytest.importorskip("adam.numpy", reason="pip install adam-robotics")
        constants = pytest.importorskip("adam.core.constants", reason="pip install adam-robotics")
        # Its order of joints is the caller's: here an order that is not that of the file.
        self.joint_names = sorted(fc.load(text, floating=floating).joint_names, reverse=True)
        gravity = np.concatenate([GRAVITY, np.zeros(3)])
        self.kindyn = module.KinDynComputations(with_origins(text), self.joint_names, gravity=gravity)
        word = {"mixed": "MIXED", "body": "BODY_FIXED", "inertial": "INERTIAL_FIXED"}[representation]
        self.kindyn.set_frame_velocity_representation(constants.Representations[f"{word}_REPRESENTATION"])
        self.floating = floating

    def _whole(self, v: Array) -> Array:
        return v if self.floating else np.concatenate([np.zeros(6), v])

    def _own(self, x: Array) -> Array:
        return x if self.floating else x[6:]

    def pose(self, q: Any, link: str) -> Array:
        return np.array(self.kindyn.forward_kinematics(link, *q))

    def velocity(self, q: Any, v: Array, link: str) -> Array:
        return np.array(self.kindyn.jacobian(link, *q) @ self._whole(v))

    def kinetic_energy(self, q: Any, v: Array) -> float:
        return float(v @ self.mass_matrix(q) @ v / 2)

    def mass_matrix(self, q: Any) -> Array:
        M = np.array(self.kindyn.mass_matrix(*q))
        return M if self.floating else M[6:, 6:]

    def bias(self, q: Any, v: Array) -> Array:
        v = self._whole(v)
        return self._own(np.array(self.kindyn.bias_force(*q, v[:6], v[6:])))

    def inverse_dynamics(self, q: Any, v: Array, a: Array) -> Array:
        return self.mass_matrix(q) @ a + self.bias(q, v)

    def gravity(self, q: Any) -> Array:
        return self._own(np.array(self.kindyn.gravity_term(*q)))
