"""The command line as a process of its own: what it imports, pipes, encodings, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from terminals import TERMINAL
from test_cli import verdict

import fallingcat as fc
from fallingcat.cli.main import main

SRC = Path(__file__).resolve().parents[2] / "src"


def command(*words: str, **options: Any) -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if k not in TERMINAL} | {"PYTHONPATH": str(SRC)}
    environment |= options.pop("env", {})
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": "utf-8"} | options
    return subprocess.Popen([sys.executable, "-m", "fallingcat", *words], env=environment, **pipe)


def test_help_imports_no_implementation() -> None:
    loaded = "sorted(m for m in sys.modules if m.startswith('rich'))"
    code = f"import sys; from fallingcat.cli.main import main; main(['--help']); print({loaded})"
    result = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(SRC)}, capture_output=True, text=True, check=True
    )
    assert result.stdout.endswith("[]\n")


def test_module_and_pipe() -> None:
    with command("report", "cat") as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0
    assert err == ""
    assert "\x1b" not in out
    assert verdict(fc.load("cat")) in out


@pytest.mark.skipif(os.name != "posix", reason="pipes of this kind are POSIX")
@pytest.mark.parametrize("words", [("report", "tree9"), ("report", "nobody", "--json"), ("robots",), ("doctor", "cat")])
def test_a_reader_that_leaves_is_no_error(words: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    with command(*words, stdout=write) as process:
        os.close(write)
        _, err = process.communicate(timeout=300)
    assert err == ""
    assert process.returncode == 141


def test_a_terminal_without_unicode_is_no_error() -> None:
    with command("report", "tree9", env={"PYTHONIOENCODING": "ascii"}, encoding="ascii") as process:
        out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    assert "tree9" in out


def open_when_read(fifo: Path) -> int:
    """The writing end of a named pipe, as soon as somebody reads it."""
    for _ in range(3000):
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("nobody reads the pipe")


@pytest.mark.skipif(os.name != "posix", reason="signals of this kind are POSIX")
def test_interrupt_while_importing(tmp_path: Path) -> None:
    """Ctrl-C before the command has begun: a slow package stands in for a slow disk."""
    package = tmp_path / "llvmlite"
    package.mkdir()
    (package / "__init__.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(600)\n")
    path = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{SRC}"}
    script = tmp_path / "fallingcat"  # as the installed command is written
    script.write_text("import sys\nfrom fallingcat.cli.main import main\nsys.exit(main())\n")
    deaf_no_more = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": os.environ | path}
    for words in (["-m", "fallingcat"], [str(script)]):
        with subprocess.Popen([sys.executable, *words, "robots"], preexec_fn=deaf_no_more, **pipes) as process:
            assert process.stdout.readline() == "importing\n"
            process.send_signal(signal.SIGINT)
            try:
                _, err = process.communicate(timeout=300)
            finally:
                process.kill()
        assert (process.returncode, err) == (130, "fallingcat: interrupted\n")


def test_programs_that_import_the_library_keep_their_signals() -> None:
    code = "import signal, fallingcat; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    preexec: Any = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)} if os.name == "posix" else {}
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, **preexec)
    assert result.stdout == "True\n"


def refuse(*_: Any) -> None:
    raise OSError("replaced")


FULL = Path("/dev/full")
"""A device that is always full, where there is one: everywhere but in the rarest places."""


@pytest.mark.parametrize(
    "words", [("robots",), ("report", "tree9"), ("linearize", "nobody", "--json"), ("papers", "--json"), ("doctor", "cat")]
)
def test_a_full_disk_is_no_internal_error(words: tuple[str, ...]) -> None:
    with open(FULL, "w") as full, command(*words, stdout=full) as process:
        _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (74, "fallingcat: cannot read or write: No space left on device\n")


@pytest.mark.parametrize(
    "words",
    [
        ("report", "tree9", "--timings", "none", "--html", str(FULL)),
        ("linearize", "tree9", "--out", str(FULL)),
    ],
)
def test_a_full_device_stays_a_device(words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(os, "replace", refuse)  # no device is at stake when this fails
    assert main(words) == 2
    assert capsys.readouterr().err == "fallingcat: cannot write '/dev/full': No space left on device\n"
    assert FULL.is_char_device()


def test_a_page_to_the_standard_output(tmp_path: Path) -> None:
    """Into a file or into a pipe: the page and nothing else; the words go to the other stream."""
    # Whoever replaces files instead of writing to them fails here, and does no harm to the machine.
    code = (
        "import os, sys\n"
        "def refuse(*_): raise OSError('replaced')\n"
        "os.replace = refuse\n"
        "from fallingcat.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", code, "report", "tree9", "--timings", "none", "--html", "/dev/stdout"]
    options: Any = {"env": os.environ | {"PYTHONPATH": str(SRC)}, "stderr": subprocess.PIPE, "text": True, "check": True}
    piped = subprocess.run(words, stdout=subprocess.PIPE, **options)
    assert "written to /dev/stdout" in piped.stderr
    with open(tmp_path / "page.html", "w") as file:
        subprocess.run(words, stdout=file, **options)
    assert Path("/dev/stdout").is_symlink()
    for page in (piped.stdout, (tmp_path / "page.html").read_text(encoding="utf-8")):
        assert page.startswith("<!DOCTYPE html>")
        assert page.endswith("</html>\n")


@pytest.mark.skipif(os.name != "posix", reason="signals of this kind are POSIX")
def test_interrupt_by_signal(tmp_path: Path) -> None:
    fifo = tmp_path / "robot.urdf"
    os.mkfifo(fifo)  # reading it waits for ever
    # A shell that runs the tests in the background makes its children deaf to this signal.
    with command("report", str(fifo), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
        writer = open_when_read(fifo)
        time.sleep(0.5)  # until it is in the read, where the signal cannot be missed
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=300)
        finally:
            process.kill()
    os.close(writer)
    assert (process.returncode, err) == (130, "fallingcat: interrupted\n")


def test_bench_runs_the_library_and_not_a_file_of_the_working_directory(tmp_path: Path) -> None:
    for name in ("fallingcat.py", "numpy.py", "time.py", "json.py"):
        (tmp_path / name).write_text("print('mine'); raise SystemExit(3)\n")
    script = (
        f"import os, sys; sys.path[:] = [p for p in sys.path if p]; os.chdir({str(tmp_path)!r});"
        "from fallingcat.apps.bench import start_times; print(start_times('spacearm', False, 'gravity_torque'))"
    )
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    done = subprocess.run([sys.executable, "-P", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "mine" not in done.stdout
    assert "'cold'" in done.stdout
