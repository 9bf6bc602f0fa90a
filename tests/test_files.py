"""Writing files: whole or not at all, through links and devices, never over them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fallingcat as fc
from fallingcat import files
from test_quality import ROOT


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    files.write(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.txt", "target.txt"]


def test_a_link_to_nothing_yet(tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "folder" / "later.txt")
    files.write(files.check(link), "new")
    assert link.is_symlink()
    assert (tmp_path / "folder" / "later.txt").read_text() == "new"


def test_links_in_a_circle_stay(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.symlink_to(other)
    other.symlink_to(one)
    for run in (files.check, lambda path: files.write(path, "new")):
        with pytest.raises(fc.FallingCatError, match="symbolic links"):
            run(one)
    assert one.is_symlink()
    assert other.is_symlink()


@pytest.mark.skipif(os.name != "posix", reason="devices of this kind are POSIX")
def test_devices_stay_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "replace", None)  # nobody's devices are at stake when this fails
    files.write(files.check("/dev/null"), "gone")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(fc.FallingCatError, match="No space left"):
        files.write("/dev/full", "more")
    assert Path("/dev/full").is_char_device()
    link = tmp_path / "full"
    link.symlink_to("/dev/full")
    with pytest.raises(fc.FallingCatError, match="No space left"):
        files.write(link, "more")
    assert link.is_symlink()
    assert Path("/dev/full").is_char_device()


@pytest.mark.skipif(os.name != "posix", reason="pipes of this kind are POSIX")
def test_a_pipe_with_a_name(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    words = [sys.executable, "-c", f"print(open({str(fifo)!r}).read())"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as reader:
        files.write(fifo, "through")
        assert reader.communicate(timeout=300)[0] == "through\n"
    assert fifo.is_fifo()


def test_standard_streams_are_written_not_opened_anew(tmp_path: Path) -> None:
    """What was printed before and after stays, in the order of printing."""
    code = "import os\nfrom fallingcat import files\nos.write(1, b'a')\nfiles.write('/dev/stdout', 'b')\nos.write(1, b'c')"
    with open(tmp_path / "out", "w") as out:
        subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "abc"


def test_folders_are_made_and_folders_are_no_files(tmp_path: Path) -> None:
    files.write(files.check(tmp_path / "a" / "b" / "c.txt"), b"x")
    assert (tmp_path / "a" / "b" / "c.txt").read_bytes() == b"x"
    with pytest.raises(fc.FallingCatError, match="it is a folder"):
        files.check(tmp_path)
    with pytest.raises(fc.FallingCatError) as error:
        files.check(f"{tmp_path}/")
    assert str(error.value).count("cannot write") == 1
    with pytest.raises(fc.FallingCatError, match="it is a folder"):
        files.check(f"{tmp_path}/not_yet/")
    with pytest.raises(fc.FallingCatError, match="cannot write"):
        files.check(tmp_path / "a" / "b" / "c.txt" / "d.txt")


def test_a_new_file_is_as_readable_as_any(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    assert files.write(tmp_path / "new", "").stat().st_mode == plain.stat().st_mode


@pytest.mark.skipif(os.name != "posix", reason="permissions of this kind are POSIX")
def test_a_private_file_stays_private(tmp_path: Path) -> None:
    path = files.write(tmp_path / "page", "old")
    path.chmod(0o600)
    assert files.write(path, "new").stat().st_mode & 0o777 == 0o600
    assert path.read_text() == "new"
