"""Code lives as long as somebody can call it: finalizers, signal handlers, robots made anew, memory torn apart."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from processes import prints

import fallingcat as fc
from fallingcat.codegen import native
from spread import first

FAR_APART = """
import mmap, random, sys
import numpy as np
import fallingcat as fc

rng = random.Random(int(sys.argv[1]))
robot = fc.load("tree9")
q = robot.neutral()
held = []
for name in ("mass_matrix", "gravity_torque", "inverse_mass_matrix", "center_of_mass", "potential_energy", "locked_inertia"):
    maps = [mmap.mmap(-1, 4096 * rng.choice([1, 1, 2, 3, 4, 5, 8, 16])) for _ in range(100)]
    held.append(np.empty(3 << 27))  # 3 GB of addresses, no memory
    rng.shuffle(maps)
    for m in maps[:50]:
        m.close()
    held.append(maps[50:])
    getattr(robot, name)(q)
print("done")
"""


@pytest.mark.parametrize("seed", ["1", "2"])
def test_holes_in_the_address_space(seed: str) -> None:
    """Sections of code never lie further apart than their jumps reach."""
    prints("done", FAR_APART, seed, FALLINGCAT_CACHE="off")


FINALIZERS = """
import gc
import numpy as np
import fallingcat as fc

class Watcher:
    def __init__(self, robot, way):
        self.robot, self.way = robot, way
        robot.watcher = self  # a cycle

    def __del__(self):
        self.way(self.robot)

def single(robot):
    answers.append(robot.potential_energy(q))

def held(robot):
    answers.append(robot.held(q))

def batch(robot):
    answers.append(robot.potential_energy(many)[2])

def suspended(robot):
    try:
        yield
    finally:
        single(robot)

class Hidden:
    def __del__(self):
        answers.append(self.call(q))

q = fc.load("tree9").neutral()
many = np.tile(q, (300, 1))
for way in (single, held, batch, "generator", "hidden"):
    answers = []
    for _ in range(3):
        robot = fc.load("tree9")
        expected = robot.potential_energy(q)
        robot.potential_energy(many)
        robot.held = robot.potential_energy
        if way == "generator":
            robot.generator = suspended(robot)
            next(robot.generator)
        elif way == "hidden":  # the collector does not see into arrays of objects
            robot.box = np.empty(1, dtype=object)
            robot.box[0] = Hidden()
            robot.box[0].call = robot.potential_energy
            robot.__dict__.pop("potential_energy")
            robot._kernels.clear(), robot._calls.clear()
            robot.held = None
        else:
            Watcher(robot, way)
        del robot
        gc.collect()
    if way != "hidden":
        assert answers == [expected] * 3, (way, answers)
print("done")
"""


@pytest.mark.parametrize("freed", ["0", "255"])
def test_finalizers_that_call_the_robot_they_die_with(freed: str) -> None:
    prints("done", FINALIZERS, PYTHONMALLOC="malloc", MALLOC_PERTURB_=freed)


MADE_ANEW = """
import gc
import numpy as np
import fallingcat as fc

first, second = fc.load("tree9"), fc.load("cat")
one, two = first.mass_matrix(first.neutral()), second.mass_matrix(second.neutral())
robot = fc.load("tree9")
robot.mass_matrix(first.neutral())
taken = robot.mass_matrix
robot.__init__(second.description)
gc.collect()
assert np.array_equal(robot.mass_matrix(second.neutral()), two)
assert np.array_equal(robot.mass_matrix(second.neutral()[None])[0], two)
try:
    robot.mass_matrix(first.neutral())
except fc.InputError:
    pass
else:
    raise AssertionError("the code of the model before")
assert np.array_equal(taken(first.neutral()), one)
robot.__dict__.update(first.__dict__)
gc.collect()
assert np.array_equal(robot.mass_matrix(first.neutral()), one)
robot.__dict__.clear()
del robot
gc.collect()
assert np.array_equal(taken(first.neutral()), one)
print("done")
"""


def test_a_robot_that_is_initialised_again() -> None:
    prints("done", MADE_ANEW, PYTHONMALLOC="malloc", MALLOC_PERTURB_="255")


SIGNALS = """
import itertools, signal, sys
import numpy as np
import fallingcat as fc

fc.set_threads(int(sys.argv[1]))
calm = fc.load("tree9")
rng = np.random.default_rng(0)
Q = np.array([calm.random_configuration(rng) for _ in range(500)])
expected = calm.mass_matrix(Q).copy()
names = ("mass_matrix", "gravity_torque", "center_of_mass", "locked_inertia", "potential_energy", "inverse_mass_matrix")
fresh = itertools.cycle([fc.load("tree9") for _ in range(3)])
count = 0

def handler(*_):
    global count
    count += 1
    assert np.array_equal(calm.mass_matrix(Q), expected)
    if count % 5 == 0:
        getattr(next(fresh), names[count // 5 % len(names)])(Q[0])

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
for k in range(12):
    robot = fc.load("tree9")
    for name in names:
        getattr(robot, name)(Q[k])
while count < 200:
    assert np.array_equal(calm.mass_matrix(Q), expected)
signal.setitimer(signal.ITIMER_REAL, 0)
print("done")
"""


@pytest.mark.parametrize("threads", first(1, ["3", "1"]))
def test_signal_handlers_that_call_and_compile(threads: str) -> None:
    """Nobody waits for a lock that the interrupted code holds."""
    prints("done", SIGNALS, threads, FALLINGCAT_CACHE="off")


AT_THE_END = """
import atexit, sys, threading, time
import numpy as np

def last():
    assert np.array_equal(robot.mass_matrix(Q), expected)
    fc.load("cat").mass_matrix(fc.load("cat").neutral())
    print("done", flush=True)

atexit.register(last)  # before the library's own, so that it runs after it
import fallingcat as fc

fc.set_threads(int(sys.argv[1]))
robot = fc.load("tree9")
Q = np.tile(robot.neutral(), (3000, 1))
expected = robot.mass_matrix(Q)

def for_ever():
    while True:
        robot.mass_matrix(Q)

for _ in range(3):
    threading.Thread(target=for_ever, daemon=True).start()
time.sleep(0.2)
"""


@pytest.mark.parametrize("threads", ["1", "3"])
def test_daemon_threads_and_late_calls_at_the_end(threads: str) -> None:
    prints("done", AT_THE_END, threads, PYTHONMALLOC="malloc", MALLOC_PERTURB_="255")


def test_the_collector_does_not_see_code(ball: fc.Robot) -> None:
    robot = fc.load(ball.description)
    q = robot.neutral()
    robot.potential_energy(q)
    robot.potential_energy(q[None])
    codes = [x for x in gc.get_objects() if isinstance(x, native.Code)]
    assert codes == []
    assert isinstance(robot.potential_energy.__module__, str)
    assert robot.potential_energy.__module__ == type(robot).potential_energy.__module__


class Liar(np.ndarray):
    """Says of itself what it is not."""

    dtype: Any = np.dtype(np.float64)  # type: ignore[misc]
    shape: Any = (1000, 11)  # type: ignore[misc]

    @property
    def flags(self) -> Any:  # type: ignore[override]
        return np.zeros(1).flags

    def reshape(self, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        return self


def test_outputs_are_looked_at_not_asked(ball: fc.Robot) -> None:
    q, nu = np.tile(ball.neutral(), (1000, 1)), np.ones((1000, ball.nv))
    expected = ball.inverse_dynamics(q, nu, nu)
    for real in (np.zeros(3), np.zeros((1000, ball.nv), dtype=np.float32), np.zeros((0, 3))):
        with pytest.raises(fc.InputError, match="out for tau does not fit"):
            ball.inverse_dynamics(q, nu, nu, out=real.view(Liar))
    honest = np.zeros((1000, ball.nv)).view(Liar)
    assert ball.inverse_dynamics(q, nu, nu, out=honest) is honest
    assert np.ndarray.view(honest, np.ndarray).tobytes() == expected.tobytes()
    locked = np.zeros((1000, ball.nv))
    locked.flags.writeable = False
    with pytest.raises(fc.InputError, match="read-only"):
        ball.inverse_dynamics(q, nu, nu, out=locked.view(Liar))


@pytest.mark.parametrize("axes", [(), (5,)])
def test_masked_arrays_are_refused(ball: fc.Robot, axes: tuple[int, ...]) -> None:
    q, nu = np.broadcast_to(ball.neutral(), (*axes, ball.nq)), np.zeros((*axes, ball.nv))
    with pytest.raises(fc.InputError, match="nu is a masked array"):
        ball.inverse_dynamics(q, np.ma.masked_array(nu, mask=True), nu)
    with pytest.raises(fc.InputError, match="out for tau is a masked array"):
        ball.inverse_dynamics(q, nu, nu, out=np.ma.masked_array(nu))


def test_arguments_are_not_taken_for_results(ball: fc.Robot) -> None:
    kernel = ball.kernel("inverse_dynamics")
    q, nu = np.tile(ball.neutral(), (5, 1)), np.ones((5, ball.nv))
    a, t = np.ones((5, ball.nv)), np.full((5, ball.nv), 7.0)
    kernel(q, nu, nu)
    with pytest.raises(fc.InputError, match="wrong number of arguments"):
        kernel(q, nu, out=(a, t))
    with pytest.raises(fc.InputError, match="out does not fit"):
        kernel(q, nu, a, out=(t, t))
    assert (t == 7.0).all()


ANOTHER_MODULE = """
import gc, sys
import numpy as np
import fallingcat as fc

robot = fc.load("tree9")
q = robot.random_configuration(1)
expected = robot.mass_matrix(q).tobytes()
called, fresh, kernel = robot.mass_matrix, robot.gravity_torque, robot.kernel("mass_matrix").entry
for function in (called, fresh, kernel):
    if sys.argv[1] == "set":
        function.__module__ = "mine"
    else:
        del function.__module__
gc.collect()
for _ in range(3):
    assert called(q).tobytes() == kernel(q).tobytes() == expected
    assert called(np.array([q, q]))[1].tobytes() == expected
    fresh(q)
del robot
gc.collect()
assert called(q).tobytes() == kernel(q).tobytes() == expected
print("done")
"""


@pytest.mark.parametrize("way", ["set", "del"])
def test_functions_may_be_given_another_module(way: str) -> None:
    """The module's name keeps the code alive; a function that loses it must not lose its code."""
    prints("done", ANOTHER_MODULE, way, PYTHONMALLOC="debug")


class Owner:
    """Holds the compiled form of its own method, which holds it."""

    def __init__(self, robot: fc.Robot) -> None:
        self.height = fc.compile(self.cost, robot)

    def cost(self, r: Any, q: Any) -> Any:
        return r.center_of_mass(q)[2]


@pytest.mark.parametrize("what", ["vjp", "jvp", "own function", "own derivatives", "constraints"])
def test_derivatives_and_own_functions_go_with_their_robot(ball: fc.Robot, what: str) -> None:
    """What code keeps is not seen by the collector, so it must not lead back to the kernel whose code it is."""
    q, nu = ball.random_configuration(1), np.ones(ball.nv)

    def used() -> list[weakref.ref[Any]]:
        robot = fc.load(ball.description)
        if what == "vjp":
            kept: Any = robot.vjp("gravity_torque")
            kept(q, nu), kept(np.array([q, q]), nu)
        elif what == "jvp":
            kept = robot.jvp("gravity_torque")
            kept(q, nu)
        elif what == "constraints":
            c = robot.constraints(fc.point("hand"))
            kept = c.vjp("forward_dynamics")
            kept(q, nu, nu, nu, np.ones(3))
        else:
            kept = Owner(robot)
            kept.height(q), kept.height(np.array([q, q]))
            robot.friend = kept  # type: ignore[attr-defined]
            if what == "own derivatives":
                kept.height.jacobian(q), kept.height.hessian(q), kept.height.vjp(q, 1.0)
        kernel = kept.height.kernel if isinstance(kept, Owner) else kept.kernel
        return [weakref.ref(x) for x in (robot, kept, kernel)]

    alive = used()
    gc.collect()
    assert [ref() for ref in alive] == [None] * 3
