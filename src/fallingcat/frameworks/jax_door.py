"""`fc.jax`: imports JAX when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from fallingcat.frameworks.calls import refuse_robot
from fallingcat.robot.constraints import Constraints
from fallingcat.robot.robot import Robot
from fallingcat.robot.user_functions import CompiledFunction

if TYPE_CHECKING:
    from fallingcat.frameworks.jax_robot import JaxConstraints, JaxFunction, JaxRobot


@overload
def jax(robot: Robot) -> JaxRobot: ...
@overload
def jax(robot: Constraints) -> JaxConstraints: ...
@overload
def jax(robot: CompiledFunction) -> JaxFunction: ...


def jax(robot: Robot | Constraints | CompiledFunction) -> Any:
    """The functions of a robot, or of its constraints, for JAX; or a function from `fc.compile` for its arrays.

    They can be compiled (`jit`), mapped (`vmap`) and differentiated, forwards and backwards, as often as one likes. Arrays are
    float64 and on the CPU; results are those of NumPy, bit for bit.

    >>> arm = fc.jax(robot)
    >>> gradient = jax.jit(jax.grad(lambda tau: (arm.forward_dynamics(q, nu, tau) ** 2).sum()))
    """
    try:
        from fallingcat.frameworks.jax_robot import JaxConstraints, JaxFunction, JaxRobot
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("jax", "jaxlib"):
            raise
        raise ImportError("fc.jax needs JAX: pip install 'fallingcat[jax]'") from None
    if isinstance(robot, CompiledFunction):
        return JaxFunction(robot)
    if isinstance(robot, Constraints):
        return JaxConstraints(robot)
    if not isinstance(robot, Robot):
        refuse_robot("fc.jax", robot)
    return JaxRobot(robot)
