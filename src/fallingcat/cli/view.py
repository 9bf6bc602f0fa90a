"""`fallingcat view`: a robot in the browser, live, or as a page that needs nothing beside itself."""

from __future__ import annotations

import argparse

from rich.text import Text

from fallingcat import files
from fallingcat.apps.console import DOUBT, progress, stdout_console
from fallingcat.apps.report.states import read_state
from fallingcat.cli.options import add_robot, add_state, load_robot
from fallingcat.errors import InputError

PORT = 8080
STEPS = 40
"""Steps of the progress bar: about as many as a robot has meshes."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fallingcat view`."""
    add_robot(parser)
    add_state(parser)
    parser.add_argument("--html", metavar="FILE", help="write a page with sliders instead; needs no server")
    parser.add_argument("--port", type=int, default=PORT, help=f"where the viewer is (default: {PORT}, or the next that is free)")
    parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 lets other machines look (default: this machine only)")
    parser.add_argument("--no-open", action="store_true", help="do not open the browser")
    parser.add_argument("--dark", action="store_true", help="light on dark")
    parser.epilog = "The viewer needs viser: pip install 'fallingcat[view]'. Ctrl-C ends it."
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Load, show, and stay until interrupted; or write the page."""
    if not 0 < arguments.port < 65536:
        raise InputError("--port is not a port", expected="1 to 65535", got=repr(arguments.port))
    target = files.check(arguments.html) if arguments.html is not None else None
    robot = load_robot(arguments)
    state = read_state(robot, arguments.state)
    console = stdout_console()
    if target is not None:
        from fallingcat.apps import view

        view.write(target, view.still_page(robot, state.q))
        console.print(Text.assemble("written to ", (str(target), "bold")), soft_wrap=True)
        return 0
    from fallingcat.apps.viewer import Viewer

    options = {"port": arguments.port, "host": arguments.host, "dark": arguments.dark}
    with progress(STEPS) as step:
        viewer = Viewer(robot, state.q, state.nu, progress=step, **options)
    for name in viewer.missing[:5]:
        console.print(Text(f"no mesh {name}", style=DOUBT))
    console.print(Text.assemble((robot.name, "bold"), " at ", (viewer.url, "bold cyan"), "  Ctrl-C ends"), soft_wrap=True)
    if not arguments.no_open:
        import webbrowser

        webbrowser.open(viewer.url)
    viewer.wait()
    return 0
