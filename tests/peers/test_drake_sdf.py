"""SDF as Drake reads it: the same files, M and inverse dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.extras import extra
from tests.mujoco_states import evaluate
from tests.sdf_twins import STYLES, sdf_twin
from tests.trees import random_tree

import fallingcat as fc

plants, parsing = extra("pydrake.multibody.plant"), extra("pydrake.multibody.parsing")
tree = extra("pydrake.multibody.tree")

TYPES = ("revolute", "continuous", "prismatic", "helical", "universal")
"""Those with coordinates that mean the same there."""


def compare(text: str, rng: np.random.Generator) -> float:
    """The largest relative difference with the root welded to the world."""
    robot = fc.load(text, floating=False)
    plant = plants.MultibodyPlant(0.0)
    instance, *_ = parsing.Parser(plant).AddModelsFromString(text, "sdf")
    root = plant.GetBodyByName(robot.base, instance)
    if robot.base != "world":
        plant.WeldFrames(plant.world_frame(), root.body_frame())
    plant.Finalize()
    context: Any = plant.CreateDefaultContext()
    assert plant.num_velocities() == robot.nv
    q = robot.random_configuration(rng)
    nu, dnu = rng.normal(size=(2, robot.nv))
    back = np.zeros((robot.nv, robot.nv))
    for name in robot.joint_names:
        joint = plant.GetJointByName(name)
        body = next(body for body in robot.model.bodies if body.joint_name == name)
        for k in range(body.joint.nv):
            back[joint.velocity_start() + k, body.nu_at + k] = 1.0
    plant.SetPositions(context, back @ q)
    plant.SetVelocities(context, back @ nu)
    M = back.T @ plant.CalcMassMatrix(context) @ back
    quiet = tree.MultibodyForces(plant)  # gravity alone: damping is no part of ours unless it is asked for
    gravity = plant.CalcGravityGeneralizedForces(context)
    tau = back.T @ (plant.CalcInverseDynamics(context, back @ dnu, quiet) - gravity)
    ours, torques = evaluate(robot, "mass_matrix", q), evaluate(robot, "inverse_dynamics", q, nu, dnu)
    return max(float(np.abs(ours - M).max() / np.abs(M).max()), float(np.abs(torques - tau).max() / np.abs(tau).max()))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("seed", range(3))
def test_random_trees(style: str, seed: int, rng: np.random.Generator) -> None:
    builder = random_tree(seed, 6, TYPES, mimic=0.0, square=True)  # Drake's universal joints have axes at a right angle
    text, _ = sdf_twin(builder.description(), style, rng)
    assert compare(text.replace("<drake:rotor_inertia>", "<!--").replace("</drake:rotor_inertia>", "-->"), rng) < 1e-10


@pytest.mark.parametrize("pitch", ["<screw_thread_pitch>0.3</screw_thread_pitch>", "<thread_pitch>7</thread_pitch>"])
def test_screws(pitch: str, rng: np.random.Generator) -> None:
    """The older unit of the pitch, and its sign."""
    inertial = "<inertial><pose>0.1 0.2 0.3 0 0 0</pose><mass>2</mass></inertial>"
    text = f"""<sdf version="1.9"><model name="m"><link name="a">{inertial}</link>
    <link name="b"><pose>0 0 1 1 0 0</pose>{inertial}</link>
    <link name="c"><pose>0 1 1 0 1 0</pose>{inertial}</link><joint name="s" type="screw"><parent>a</parent><child>b</child><axis>
    <xyz>0 0 1</xyz></axis>{pitch}</joint><joint name="r" type="revolute"><parent>b</parent><child>c</child>
    <axis><xyz expressed_in="__model__">0 1 0</xyz></axis></joint></model></sdf>"""
    assert compare(text, rng) < 1e-12


def test_links_without_inertia(rng: np.random.Generator) -> None:
    """One kilogram with moments of one, as the standard has it."""
    text = """<sdf version="1.9"><model name="m"><link name="a"/><link name="b"><pose>1 2 3 0 0 0</pose></link>
    <joint name="r" type="revolute"><parent>a</parent><child>b</child><pose>0.5 0 0 0 0 0</pose>
    <axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""
    assert compare(text, rng) < 1e-12
