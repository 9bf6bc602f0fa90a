"""The drawings of the documentation: python docs/tools/drawings.py writes them to docs/assets.

Plain SVG, a few hundred units wide, so that letters stay readable on a phone.
"""

from __future__ import annotations

import math
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[1] / "assets"
INK, QUIET, BLUE, RED, GREEN, PURPLE, ORANGE = "#24292f", "#8a9199", "#0b6e8f", "#c2452d", "#3a7d44", "#6a4c93", "#b36b00"
PALE = {BLUE: "#dcecf2", RED: "#f8e1db", GREEN: "#e0efe2", PURPLE: "#e8e1f0", ORANGE: "#fbecd5", QUIET: "#eef0f2"}

Point = tuple[float, float]


class Drawing:
    """Collects shapes; y points down, as in SVG."""

    def __init__(self, name: str, width: float, height: float, words: str) -> None:
        self.name, self.width, self.height, self.words = name, width, height, words
        self.parts: list[str] = []

    def add(self, text: str) -> None:
        self.parts.append(text)

    def text(self, at: Point, words: str, size: float = 16, color: str = INK, anchor: str = "middle", style: str = "") -> None:
        safe = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        place = f'x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}"'
        self.add(f'<text {place} font-size="{size}" fill="{color}" {style}>{safe}</text>')

    def code(self, at: Point, words: str, size: float = 15, color: str = INK, anchor: str = "middle") -> None:
        self.text(at, words, size, color, anchor, 'font-family="ui-monospace,Menlo,Consolas,monospace"')

    def line(self, a: Point, b: Point, color: str = INK, width: float = 2, dash: bool = False) -> None:
        dots = ' stroke-dasharray="5 4"' if dash else ""
        ends = f'x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"'
        self.add(f'<line {ends} stroke="{color}" stroke-width="{width}" stroke-linecap="round"{dots}/>')

    def arrow(self, a: Point, b: Point, color: str = INK, width: float = 2.5, dash: bool = False) -> None:
        length = math.dist(a, b)
        u = ((b[0] - a[0]) / length, (b[1] - a[1]) / length)
        size = 5 + 2 * width
        neck = (b[0] - size * u[0], b[1] - size * u[1])
        half = 0.42 * size
        left, right = (neck[0] - half * u[1], neck[1] + half * u[0]), (neck[0] + half * u[1], neck[1] - half * u[0])
        self.line(a, neck, color, width, dash)
        self.add(f'<polygon points="{_points([b, left, right])}" fill="{color}"/>')

    def box(self, x: float, y: float, w: float, h: float, color: str, radius: float = 5) -> None:
        place = f'x="{x}" y="{y}" width="{w}" height="{h}" rx="{radius}"'
        self.add(f'<rect {place} fill="{PALE[color]}" stroke="{color}" stroke-width="1.5"/>')

    def disc(self, at: Point, radius: float, fill: str, stroke: str = "none") -> None:
        self.add(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius}" fill="{fill}" stroke="{stroke}" stroke-width="2"/>')

    def shape(self, points: list[Point], color: str, opacity: float = 1.0) -> None:
        self.add(
            f'<polygon points="{_points(points)}" fill="{PALE[color]}" stroke="{color}" stroke-width="2" '
            f'stroke-linejoin="round" opacity="{opacity}"/>'
        )

    def axes(self, at: Point, angle: float, length: float, names: tuple[str, str], color: str = INK) -> None:
        """Two axes, the first turned by an angle in degrees against the page's x, counter-clockwise."""
        for k, name in enumerate(names):
            tip = polar(at, angle + 90 * k, length)
            self.arrow(at, tip, color)
            end = polar(at, angle + 90 * k, length + 13)
            self.text((end[0], end[1] + 5), name, 15, color)
        self.disc(at, 3.5, color)

    def arc(self, at: Point, radius: float, start: float, end: float, color: str) -> None:
        a, b = polar(at, start, radius), polar(at, end, radius)
        self.add(
            f'<path d="M{a[0]:.1f} {a[1]:.1f}A{radius} {radius} 0 {int(end - start > 180)} 0 {b[0]:.1f} {b[1]:.1f}" fill="none" '
            f'stroke="{color}" stroke-width="2.5"/>'
        )
        tangent = polar(b, end + 98, 11)
        before = polar(b, end + 90 - 180, 1)
        self.arrow(before, tangent, color, 1.5)

    def write(self) -> None:
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" role="img"'
        font = 'font-family="system-ui,-apple-system,Segoe UI,DejaVu Sans,sans-serif"'
        body = "\n".join(self.parts)
        (ASSETS / self.name).write_text(f"{head} {font}>\n<title>{self.words}</title>\n{body}\n</svg>\n", encoding="utf-8")


def _points(points: list[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def polar(at: Point, degrees: float, length: float) -> Point:
    a = math.radians(degrees)
    return (at[0] + length * math.cos(a), at[1] - length * math.sin(a))


def slab(at: Point, degrees: float, length: float, width: float, back: float = 0.0) -> list[Point]:
    """A rectangle that begins at a point and goes on in a direction."""
    start, end = polar(at, degrees, -back), polar(at, degrees, length)
    return [polar(start, degrees + 90, width), polar(end, degrees + 90, width), polar(end, degrees - 90, width),
            polar(start, degrees - 90, width)]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------


def base_frame() -> None:
    """World, base, joints, a frame at the tip."""
    d = Drawing("base_frame.svg", 720, 330, "A floating base in the world, with two joints and a hand")
    world, base = (80, 280), (300, 170)
    d.shape(slab(base, 25, 95, 42, back=75), BLUE)
    elbow = polar(base, 25, 95)
    d.shape(slab(elbow, -20, 120, 13, back=8), GREEN)
    wrist = polar(elbow, -20, 120)
    d.shape(slab(wrist, 50, 100, 10, back=8), PURPLE)
    hand = polar(wrist, 50, 100)
    for at in (elbow, wrist):
        d.disc(at, 9, "#fff", INK)
        d.disc(at, 2.5, INK)
    d.arrow(world, (base[0] - 5, base[1] + 3), QUIET, 2, dash=True)
    d.text((165, 225), "p", 18, QUIET, style='font-style="italic"')
    d.axes(world, 0, 60, ("x", "z"))
    d.text((80, 312), "world", 16)
    d.axes(base, 25, 55, ("x", "z"), BLUE)
    d.text((290, 262), "base, pose H = (R, p)", 16, BLUE)
    d.text((elbow[0] + 8, elbow[1] - 22), "s₁", 18, style='font-style="italic"')
    d.text((wrist[0] - 6, wrist[1] + 34), "s₂", 18, style='font-style="italic"')
    d.axes(hand, 50, 42, ("x", "z"), PURPLE)
    d.text((hand[0] + 30, hand[1] + 24), "frame “hand”", 16, PURPLE, "start")
    d.write()


def layout() -> None:
    """q, nu and tau of a floating robot, box by box."""
    d = Drawing("layout.svg", 720, 300, "The entries of q, nu and tau")
    rows = (
        ("q", 52, [("x", "y", "z"), ("qx", "qy", "qz", "qw"), ("s₁", "s₂", "…", "sₙ")],
         ("position p", "quaternion of R", "joint coordinates"), "nq = n + 7"),
        ("nu", 142, [("vx", "vy", "vz"), ("ωx", "ωy", "ωz"), ("r₁", "r₂", "…", "rₙ")],
         ("linear", "angular", "joint velocities"), "nv = n + 6"),
        ("tau", 232, [("fx", "fy", "fz"), ("mx", "my", "mz"), ("τ₁", "τ₂", "…", "τₙ")],
         ("force", "moment", "joint torques"), "nv = n + 6"),
    )  # fmt: skip
    for name, y, groups, words, size in rows:
        d.code((34, y + 22), name, 20)
        x = 75.0
        for entries, word, color in zip(groups, words, (BLUE, PURPLE, GREEN), strict=True):
            width = 46 * len(entries)
            d.text((x + width / 2, y - 8), word, 14, color)
            for k, entry in enumerate(entries):
                d.box(x + 46 * k, y, 43, 32, color)
                d.text((x + 46 * k + 21.5, y + 22), entry, 15)
            x += width + 14
        d.text((708, y + 22), size, 14, QUIET, "end")
    d.text((75, 290), "Blue and purple are the base. With a fixed base they are absent.", 14, QUIET, "start")
    d.write()


def twists() -> None:
    """The same motion of a body, written in three ways."""
    d = Drawing("twists.svg", 720, 330, "One motion of a body, as body-fixed, mixed and inertial twist")
    titles = (
        ("body", "velocity of the origin,", "in the body's axes"),
        ("mixed", "velocity of the origin,", "in the world's axes"),
        ("inertial", "velocity of the body's point", "at the world's origin"),
    )
    angle, heading, speed, turn = 30.0, 75.0, 75.0, 0.55
    for k, (title, first, second) in enumerate(titles):
        left = 240 * k
        world, origin = (left + 45.0, 232.0), (left + 130.0, 150.0)
        if k:
            d.line((left, 20), (left, 310), "#dfe3e6", 1)
        d.text((left + 120, 34), title, 19, INK, style='font-weight="bold"')
        d.text((left + 120, 290), first, 14.5, QUIET)
        d.text((left + 120, 309), second, 14.5, QUIET)
        if k == 2:  # the body, thought of as reaching the origin of the world
            d.line(origin, world, BLUE, 12)
            d.parts[-1] = d.parts[-1].replace("/>", ' opacity="0.15"/>')
        d.shape(slab(origin, angle, 52, 24, back=42), BLUE)
        d.axes(world, 0, 38, ("x", "y"))
        d.axes(origin, angle, 34, ("", ""), BLUE)
        d.arc(origin, 64, -48, -8, ORANGE)
        w = polar(origin, -30, 82)
        d.text((w[0], w[1] + 6), "ω", 17, ORANGE)
        v = polar(origin, heading, speed)
        if k < 2:
            axis = angle if k == 0 else 0.0
            along = speed * math.cos(math.radians(heading - axis))
            corner = polar(origin, axis, along)
            d.line(origin, corner, RED, 2, dash=True)
            d.line(corner, v, RED, 2, dash=True)
            d.arrow(origin, v, RED, 3)
            d.text((v[0] + 12, v[1] + 4), "v", 18, RED, style='font-style="italic"')
        else:  # v - w x p, with the page's y downwards
            p = (origin[0] - world[0], world[1] - origin[1])
            vx = speed * math.cos(math.radians(heading)) + turn * p[1]
            vy = speed * math.sin(math.radians(heading)) - turn * p[0]
            tip = (world[0] + vx, world[1] - vy)
            d.arrow(origin, v, "#e3b5aa", 2)
            d.arrow(world, tip, RED, 3)
            d.text((tip[0] + 12, tip[1] + 14), "v", 18, RED, style='font-style="italic"')
    d.write()


def tree() -> None:
    """How bodies are numbered."""
    d = Drawing("tree.svg", 720, 340, "Bodies numbered depth first, parents before children; a welded link belongs to its body")
    at = {-1: (60.0, 190.0), 0: (190.0, 190.0), 1: (320.0, 95.0), 2: (450.0, 55.0), 3: (450.0, 150.0), 4: (320.0, 270.0),
          5: (450.0, 270.0)}  # fmt: skip
    parent = {0: -1, 1: 0, 2: 1, 3: 1, 4: 0, 5: 4}
    joints = {0: "floating", 1: "waist", 2: "neck", 3: "arm", 4: "hip", 5: "knee"}
    names = {0: "pelvis", 1: "torso", 2: "head", 3: "arm", 4: "thigh", 5: "shank"}
    for i, p in parent.items():
        d.line(at[p], at[i], INK, 2.5)
        middle = ((at[p][0] + at[i][0]) / 2, (at[p][1] + at[i][1]) / 2)
        side = {1: (-30, -4), 2: (-4, -12), 3: (-12, 22), 4: (-26, 14)}.get(i, (0, 20))
        d.text((middle[0] + side[0], middle[1] + side[1]), joints[i], 13, QUIET)
    d.box(547, 249, 92, 42, GREEN, 21)
    d.line(at[5], (547, 270), INK, 2.5)
    d.text((512, 260), "weld", 13, QUIET)
    d.text((593, 276), "foot", 15)
    for i, spot in at.items():
        color = QUIET if i < 0 else BLUE if i == 0 else GREEN
        d.disc(spot, 25, PALE[color], color)
        d.text((spot[0], spot[1] + 6), str(i), 18)
        label = "WORLD" if i < 0 else names[i]
        d.text((spot[0], spot[1] + 43), label, 14)
    d.text((593, 310), "a frame of body 5", 13, QUIET)
    d.code((150, 60), "parent = (-1, 0, 1, 1, 0, 4)", 14, INK)
    d.arrow((510, 95), (690, 95), GREEN, 2)
    d.code((600, 118), "base_to_tip", 14, GREEN)
    d.arrow((690, 150), (510, 150), PURPLE, 2)
    d.code((600, 173), "tip_to_base", 14, PURPLE)
    d.write()


def compiler() -> None:
    """From a file to machine code."""
    d = Drawing("compiler.svg", 720, 400, "From a robot's file to machine code")
    top = (
        ("model file", "URDF, XML, Builder", QUIET),
        ("Description", "links and joints", BLUE),
        ("Model", "a tree of bodies", BLUE),
    )
    for k, (name, words, color) in enumerate(top):
        x = 20 + 240 * k
        d.box(x, 30, 200, 66, color)
        d.text((x + 100, 57), name, 18, style='font-weight="bold"')
        d.text((x + 100, 80), words, 14, QUIET)
    d.arrow((222, 63), (257, 63))
    d.arrow((462, 63), (497, 63))
    d.text((240, 18), "read", 13, QUIET)
    d.text((480, 18), "assemble", 13, QUIET)

    d.box(20, 150, 200, 66, PURPLE)
    d.text((120, 177), "algorithm", 18, style='font-weight="bold"')
    d.text((120, 200), "Python, like the paper", 14, QUIET)
    d.box(380, 150, 320, 66, PURPLE)
    d.text((540, 177), "Program", 18, style='font-weight="bold"')
    d.text((540, 200), "straight-line code for this robot", 14, QUIET)
    d.arrow((222, 183), (377, 183))
    d.arrow((600, 98), (600, 147))
    d.text((300, 172), "trace:", 14)
    d.text((300, 206), "run on symbols", 14, QUIET)

    for x, name, words in ((20, "one state", "lowest latency"), (380, "batch", "a state in each vector lane")):
        d.box(x, 285, 320, 66, GREEN)
        d.text((x + 160, 312), f"machine code: {name}", 18, style='font-weight="bold"')
        d.text((x + 160, 335), words, 14, QUIET)
    d.arrow((450, 218), (180, 282))
    d.arrow((540, 218), (540, 282))
    d.text((630, 255), "cut into pieces, LLVM", 14, QUIET)
    d.text((360, 385), "kept on disk, keyed by robot, function, source and processor", 14, QUIET)
    d.write()


def main() -> None:
    for draw in (base_frame, layout, twists, tree, compiler):
        draw()


if __name__ == "__main__":
    main()
