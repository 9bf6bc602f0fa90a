"""`fc.torch`: imports PyTorch when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from fallingcat.frameworks.calls import refuse_robot
from fallingcat.robot.constraints import Constraints
from fallingcat.robot.robot import Robot
from fallingcat.robot.user_functions import CompiledFunction

if TYPE_CHECKING:
    from fallingcat.frameworks.torch_robot import TorchConstraints, TorchFunction, TorchRobot


@overload
def torch(robot: Robot) -> TorchRobot: ...
@overload
def torch(robot: Constraints) -> TorchConstraints: ...
@overload
def torch(robot: CompiledFunction) -> TorchFunction: ...


def torch(robot: Robot | Constraints | CompiledFunction) -> Any:
    """The functions of a robot, or of its constraints, for PyTorch; or a function from `fc.compile` for tensors.

    Tensors are float64 and on the CPU; results are those of NumPy, bit for bit, and can be differentiated.

    >>> arm = fc.torch(robot)
    >>> arm.forward_dynamics(q, nu, tau).square().sum().backward()
    """
    try:
        from fallingcat.frameworks.torch_robot import TorchConstraints, TorchFunction, TorchRobot
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise ImportError("fc.torch needs PyTorch: pip install 'fallingcat[torch]'") from None
    if isinstance(robot, CompiledFunction):
        return TorchFunction(robot)
    if isinstance(robot, Constraints):
        return TorchConstraints(robot)
    if not isinstance(robot, Robot):
        refuse_robot("fc.torch", robot)
    return TorchRobot(robot)
