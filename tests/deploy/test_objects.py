"""Object files for other processors: linked, run where an emulator is at hand, and compared with Python bit for bit."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from tools import program, run

import fallingcat as fc
from fallingcat.codegen.objects import processor

NAMES = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "difference", "christoffel_symbols", "step"]
MACHINES = {
    "x86_64-linux-gnu": 62, "aarch64-linux-gnu": 183, "armv7-linux-gnueabihf": 40, "riscv64-linux-gnu": 243, "arm-none-eabi": 40,
}  # fmt: skip
"""Their numbers in the ELF standard."""


@pytest.mark.parametrize("target", MACHINES)
def test_the_object_is_for_the_machine(target: str, tmp_path: Path) -> None:
    done = fc.export(fc.load("cat"), ["gravity_torque"], tmp_path, target=target)
    code = (tmp_path / "cat.o").read_bytes()
    assert code[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", code, 18)[0] == MACHINES[target]
    assert done.code_size is not None
    assert 1000 < done.code_size < len(code)
    assert f"{done.code_size:,} bytes of code" in str(done)
    assert "cat_gravity_torque" in (tmp_path / "cat.h").read_text()


@pytest.mark.parametrize("target", ["aarch64-apple-darwin", "x86_64-pc-windows-msvc"])
def test_other_formats(target: str, tmp_path: Path) -> None:
    done = fc.export(fc.load("cat"), ["gravity_torque"], tmp_path, target=target)
    assert (tmp_path / "cat.o").read_bytes()[:2] in (b"\xcf\xfa", b"\x64\x86")
    assert done.code_size


def test_firmware_is_smaller_in_single_precision(tmp_path: Path) -> None:
    """On a processor whose floating-point unit knows no doubles."""
    sizes = [
        fc.export(fc.load("cat"), ["inverse_dynamics"], tmp_path, target="arm-none-eabi", precision=p).code_size
        for p in ("float", "double")
    ]
    assert sizes[0] is not None
    assert sizes[1] is not None
    assert 3 * sizes[0] < sizes[1]


def test_names_of_processors() -> None:
    assert processor("aarch64-linux-gnu").triple == "aarch64-unknown-linux-gnu"
    assert processor("arm-none-eabi").triple == "thumb-unknown-none-eabi"
    assert processor("arm-none-eabi", "cortex-a9").triple == "arm-unknown-none-eabi"
    assert processor("x86_64-linux-gnu", "skylake").cpu == "skylake"
    with pytest.raises(fc.InputError, match=r"unknown target.*aarch64-linux-gnu"):
        processor("aarch65-linux-gnu")


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("target", "cpu", "words"),
    [
        ("x86_64-linux-gnu", "nonsense", "unknown processor of x86_64-unknown-linux-gnu; got: 'nonsense'"),
        ("x86_64-linux-gnu", "help", "unknown processor of x86_64-unknown-linux-gnu; got: 'help'"),
        ("x86_64-linux-gnu", "skylak", "did you mean 'skylake'"),
        ("aarch64-linux-gnu", "cortex-m4", "unknown processor of aarch64-unknown-linux-gnu; got: 'cortex-m4'"),
        ("x86_64-linux-gnu", "i386", "no code for x86_64-unknown-linux-gnu with the processor 'i386'"),
        ("bpf", "", "no code for bpf"),
        ("nvptx64-nvidia-cuda", "", "no code for nvptx64-nvidia-cuda"),
        ("amdgcn", "", "no code for amdgcn"),
        ("wasm32", "", 'hint: target "wasm"'),
        ("wasm64-unknown-unknown", "", 'hint: target "wasm"'),
    ],
)
def test_processors_that_llvm_dies_of(target: str, cpu: str, words: str, tmp_path: Path) -> None:
    """It would take this process with it."""
    with pytest.raises(fc.InputError, match=words):
        fc.export(fc.load("cat"), ["gravity_torque"], tmp_path, target=target, cpu=cpu)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sweep
def test_processors_that_nobody_has_tried(tmp_path: Path) -> None:
    """Made in a process of their own, with the same bytes; where it ends in the middle, that is an error like others."""
    cat = fc.load("cat")
    fc.export(cat, ["gravity_torque"], tmp_path / "a", target="x86_64-linux-gnu")
    fc.export(cat, ["gravity_torque"], tmp_path / "b", target="x86_64-linux-gnu", cpu="x86-64-v3")
    assert (tmp_path / "a" / "cat.o").read_bytes() == (tmp_path / "b" / "cat.o").read_bytes()
    fc.export(cat, ["gravity_torque"], tmp_path / "c", target="powerpc64le-linux-gnu")
    with pytest.raises(fc.InputError, match="no code for"):
        fc.export(cat, ["gravity_torque"], tmp_path / "d", target="spirv64")


EMULATED = {
    "x86_64-linux-gnu": ("gcc", ""),
    "aarch64-linux-gnu": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "armv7-linux-gnueabihf": ("arm-linux-gnueabihf-gcc", "qemu-arm"),
}


@pytest.mark.compilers
@pytest.mark.parametrize("target", EMULATED)
@pytest.mark.parametrize("precision", ["double", "float"])
def test_it_runs_there(target: str, precision: str, tmp_path: Path) -> None:
    compiler, emulator = EMULATED[target]
    compiler, emulator = program(compiler), emulator and program(emulator)
    fc.export(fc.load("cat"), NAMES, tmp_path, target=target, precision=precision)
    run(compiler, "-static", tmp_path / "check.c", tmp_path / "cat.o", "-o", tmp_path / "check", "-lm")
    says = run(*([emulator] if emulator else []), tmp_path / "check")
    assert says.endswith("good, to the last bit\n" if precision == "double" else "good\n")


@pytest.mark.compilers
def test_cmake_links_it(tmp_path: Path) -> None:
    fc.export(fc.load("cat"), ["mass_matrix"], tmp_path, target="x86_64-linux-gnu")
    cmake = program("cmake")
    run(cmake, "-S", tmp_path, "-B", tmp_path / "build")
    run(cmake, "--build", tmp_path / "build")
    assert "good, to the last bit" in run(tmp_path / "build" / "check")
