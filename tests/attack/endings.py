"""Scripts of processes that end in every way; each prints `done`, and ends with status 0 unless its name says otherwise."""

from __future__ import annotations

from .subjects import ARM

BEGIN = f"""
import atexit, gc, os, sys, threading, time
import numpy as np
import fallingcat as fc

ARM = '''{ARM}'''
robot = fc.load(ARM)
q = robot.random_configuration(1)
many = np.array([q] * 300)
expected = robot.mass_matrix(q).tobytes()
for _ in range(2):
    robot.mass_matrix(q), robot.mass_matrix(many), robot.inverse_dynamics_derivatives(q, q[1:], q[1:])

def right():
    assert robot.mass_matrix(q).tobytes() == expected
    assert robot.mass_matrix(many)[-1].tobytes() == expected
"""

SCRIPTS = {
    "nothing": "print('done')",
    "a batch at exit": "atexit.register(lambda: (right(), print('done')))",
    "threaded batches at exit": """
fc.set_threads(2)
right()
atexit.register(lambda: (right(), print('done')))
""",
    "first threaded batches at exit": """
atexit.register(lambda: (fc.set_threads(2), right(), print('done')))
""",
    "a first call at exit": """
def late():
    other = fc.load(ARM)
    assert other.mass_matrix(q).tobytes() == expected
    assert other.mass_matrix(many)[-1].tobytes() == expected
    print('done')
atexit.register(late)
""",
    "daemon threads that call": """
def work():
    while True:
        right()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print('done')
""",
    "daemon threads that compile": """
os.environ['FALLINGCAT_CACHE'] = 'off'
def work():
    while True:
        fc.load(ARM).gravity_torque(q)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print('done')
""",
    "threads that are still to end": """
def work():
    time.sleep(0.2)
    right()
    print('done')
threading.Thread(target=work).start()
""",
    "exit status 3 in the middle": """
fc.set_threads(2)
right()
print('done', flush=True)
sys.exit(3)
""",
    "os._exit": """
right()
print('done', flush=True)
os._exit(0)
""",
    "finalizers of modules": """
class Late:
    def __init__(self):
        self.robot, self.q, self.many, self.expected = robot, q, many, expected
    def __del__(self):
        assert self.robot.mass_matrix(self.q).tobytes() == self.expected
        assert self.robot.mass_matrix(self.many)[-1].tobytes() == self.expected
late = Late()
late.me = late
other = Late()
held = robot.mass_matrix(many)[3:5]
sys.late, sys.method = Late(), robot.mass_matrix
print('done')
""",
    "generators that are suspended": """
def walk():
    try:
        yield robot.mass_matrix(many)
    finally:
        robot.mass_matrix(many)
walks = [walk() for _ in range(3)]
held = [next(w) for w in walks]
print('done')
""",
    "a profiler at exit": """
sys.setprofile(lambda *a: None)
atexit.register(lambda: (right(), print('done')))
""",
}
