"""A policy that is trained through the dynamics: an arm on a free base learns to reach, in PyTorch, by gradients alone.

The base is lighter than the arm: whatever the arm does pushes it away. A small network sees where the hand is and where it
should be, and gives joint torques. The loss is where the hand ends; its gradient goes back through forty steps of the exact
dynamics of 128 robots at once.
"""

# pip install 'fallingcat[torch,examples]'

import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

import fallingcat as fc

OUT = Path("out")
ROBOTS, STEPS, DT, ROUNDS = 128, 40, 0.03, 150
STRONGEST = 4.0  # newton metres of a joint


class Policy(torch.nn.Module):
    """Joint torques from what the robot knows: its joints, its velocities, and the way to the target, seen from its base."""

    def __init__(self, robot):
        super().__init__()
        self.robot = fc.torch(robot)
        sizes = (2 * robot.n + 6 + 3, 64, 64)
        layers = [torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.Tanh()) for a, b in pairwise(sizes)]
        self.net = torch.nn.Sequential(*layers, torch.nn.Linear(64, robot.n)).double()
        for p in self.net[-1].parameters():
            torch.nn.init.zeros_(p)  # it begins by doing nothing

    def forward(self, q, nu, target):
        way = target - self.hand(q)
        base = self.robot.frame_pose(q, "base")[..., :3, :3]
        way = torch.einsum("...ji,...j->...i", base, way)
        return STRONGEST * torch.tanh(self.net(torch.cat([q[..., 7:], nu, 3.0 * way], dim=-1)))

    def hand(self, q):
        return self.robot.frame_pose(q, "hand")[..., :3, 3]


def motion(policy, q, nu, target):
    """The distances of the hand from the target after every step, what the motion costs, and the hand's path."""
    distances, costs, path = [], [], []
    for _ in range(STEPS):
        tau = policy(q, nu, target)
        q, nu = policy.robot.step(q, nu, tau, DT)
        path.append(policy.hand(q))
        distances.append((path[-1] - target).norm(dim=-1))
        costs.append((nu[..., 6:].square().sum(-1) + (tau / STRONGEST).square().sum(-1)).mean())
    return torch.stack(distances), torch.stack(costs).mean(), torch.stack(path)


def tasks(robot, count, rng):
    """Robots at rest, and targets that the hand could reach by turning its joints: the centre of mass stays where it is."""
    start = robot.neutral()
    start[7:] = 0.0, 0.5, 0.0, 1.4
    there = np.tile(start, (count, 1))
    there[:, 7:] += rng.uniform(-0.8, 0.8, size=(count, robot.n))
    target = robot.frame_pose(there, "hand")[:, :3, 3] - robot.center_of_mass(there) + robot.center_of_mass(start)
    q = np.tile(start, (count, 1))
    return tuple(map(torch.from_numpy, (q, np.zeros((count, robot.nv)), target)))


def main() -> None:
    torch.manual_seed(1)
    torch.set_num_threads(1)  # matrices this small are not worth more
    rng = np.random.default_rng(1)
    wrist = {"joint5": 0.0, "joint6": 0.6, "joint7": 0.0}
    robot = fc.load("spacearm", gravity=(0, 0, 0), lock=wrist)
    policy = Policy(robot)
    optimizer = torch.optim.Adam(policy.net.parameters(), lr=6e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, ROUNDS, eta_min=2e-4)
    examined = tasks(robot, 100, np.random.default_rng(2))
    with torch.no_grad():
        before = motion(policy, *examined)[0][-1]

    curve, began = [], time.perf_counter()
    for number in range(ROUNDS):
        distances, cost, _ = motion(policy, *tasks(robot, ROBOTS, rng))
        loss = distances[-15:].mean() + 1e-3 * cost
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        curve.append(distances[-1].mean().item())
        if number % 30 == 0 or number == ROUNDS - 1:
            print(f"round {number:3d}: the hand ends {100 * curve[-1]:5.1f} cm from its target")
    seconds = time.perf_counter() - began
    print(f"{ROUNDS * ROBOTS * STEPS:,} steps of the dynamics forth and back in {seconds:.0f} s")

    with torch.no_grad():
        distances, _, path = motion(policy, *examined)
    print(f"on 100 new targets: {100 * before.mean():.1f} cm before, {100 * distances[-1].mean():.1f} cm after training")
    assert distances[-1].mean() < 0.2 * before.mean(), "the policy has not learned to reach"
    draw(curve, distances.numpy(), path.numpy(), examined[2].numpy())


def draw(curve, distances, path, target) -> None:
    """What was learned, and how the hand moves."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("the figure needs matplotlib: pip install 'fallingcat[figures]'")
        return
    figure = Figure(figsize=(12.5, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(100 * np.array(curve), color="#0b6e8f", linewidth=2.0)
    left.set_title("distance at the end while it learns, cm", loc="left", fontsize=11)
    left.set_xlabel("round")
    left.set_ylim(0.0)
    seconds = DT * np.arange(1, STEPS + 1)
    middle.plot(seconds, 100 * distances[:, :60], color="#6a4c93", linewidth=0.7, alpha=0.35)
    middle.plot(seconds, 100 * np.median(distances, axis=1), color="#6a4c93", linewidth=2.5, label="median")
    middle.set_title("distance from new targets, cm", loc="left", fontsize=11)
    middle.set_xlabel("seconds")
    middle.set_ylim(0.0)
    middle.legend(frameon=False)
    for k in range(14):
        right.plot(path[:, k, 0], path[:, k, 2], color="#c2452d", linewidth=1.2, alpha=0.7)
        right.plot(target[k, 0], target[k, 2], color="#22262b", marker="o", markersize=4)
    right.set_aspect("equal")
    right.set_title("paths of the hand, and targets, from the side, m", loc="left", fontsize=11)
    for ax in (left, middle, right):
        ax.grid(color="#e3e5e8")
        ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle("An arm on a free base learns to reach, through its dynamics", fontweight="bold", x=0.01, ha="left")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "policy.png", dpi=150)
    print(f"wrote {OUT / 'policy.png'}")


if __name__ == "__main__":
    main()
