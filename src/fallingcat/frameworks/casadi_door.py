"""`fc.casadi`: imports CasADi when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from fallingcat.frameworks.calls import refuse_robot
from fallingcat.robot.constraints import Constraints
from fallingcat.robot.robot import Robot
from fallingcat.robot.user_functions import CompiledFunction

if TYPE_CHECKING:
    from fallingcat.frameworks.casadi_robot import CasadiConstraints, CasadiRobot


@overload
def casadi(robot: Robot, compiled: bool = False, order: int = 2) -> CasadiRobot: ...
@overload
def casadi(robot: Constraints, compiled: bool = False, order: int = 2) -> CasadiConstraints: ...
@overload
def casadi(robot: CompiledFunction, compiled: bool = False, order: int = 2) -> Any: ...


def casadi(robot: Robot | Constraints | CompiledFunction, compiled: bool = False, order: int = 2) -> Any:
    """The functions of a robot, or of its constraints, for CasADi; or a function from `fc.compile` as a `casadi.Function`.

    compiled: machine code with exact derivatives in place of expressions of SX, for MX and numbers. It needs no C compiler, but
    Linux.
    order: of the derivatives that are compiled: 2 for exact Hessians, 1 for solvers that do without, 0 for values alone.

    >>> arm = fc.casadi(robot)
    >>> q, nu, tau = (casadi.SX.sym(x, robot.nv) for x in ("q", "nu", "tau"))
    >>> dnu = arm.forward_dynamics(q, nu, tau)
    """
    try:
        from fallingcat.frameworks.casadi_robot import CasadiConstraints, CasadiRobot, check_how, function_of
    except ModuleNotFoundError as error:
        if error.name != "casadi":
            raise
        raise ImportError("fc.casadi needs CasADi: pip install 'fallingcat[casadi]'") from None
    check_how(compiled, order)
    if isinstance(robot, CompiledFunction):
        return function_of(robot.kernel, compiled, order)
    if isinstance(robot, Constraints):
        return CasadiConstraints(robot, compiled, order)
    if not isinstance(robot, Robot):
        refuse_robot("fc.casadi", robot)
    return CasadiRobot(robot, compiled, order)
