"""The files of a C project: header, source, CMakeLists.txt, an example, and a program that checks what was built."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fallingcat.codegen.backend import Written
from fallingcat.codegen.c99 import c_source, declaration, number, preamble
from fallingcat.codegen.c_sines import c_library
from fallingcat.deploy import words
from fallingcat.deploy.chosen import Chosen
from fallingcat.deploy.project import Project
from fallingcat.deploy.vectors import STATES, Array, vectors

TOLERANCES = {"double": 1e-12, "float": 2e-3}
"""Tolerances of the self-check, relative to the largest entry of a result: the effect of other roundings."""


@dataclass(frozen=True)
class Part:
    """One exported function."""

    chosen: Chosen
    written: Written
    notes: tuple[str, ...] = ()
    """More lines of its comment."""

    @property
    def macro(self) -> str:
        return f"{self.written.name.upper()}_WORKSPACE"


def c_parts(project: Project, chosen: Sequence[Chosen]) -> list[Part]:
    """All functions in C."""
    taken = project.taken(c.name for c in chosen)
    return [Part(c, c_source(c.kernel.program, project.symbol(c.name), project.precision, taken)) for c in chosen]


def c_files(project: Project, parts: Sequence[Part]) -> dict[str, str]:
    """Name and text of every file."""
    name = project.stem
    return {
        f"{name}.h": header(project, parts),
        f"{name}.c": source(project, parts),
        "main.c": example(project, parts[0]),
        "check.c": check(project, parts),
        "CMakeLists.txt": cmake(project, f"{name}.c"),
    }


def _comment(lines: Iterable[str]) -> str:
    first, *others = lines  # the first line is never wrapped
    wrapped = [first]
    for line in others:
        indent = " " * 6 if line.startswith(" ") else ""
        wrapped += textwrap.wrap(line, 116, subsequent_indent=indent, replace_whitespace=False) or [""]
    return "/* " + "\n".join(f"   {line}".rstrip() for line in wrapped).lstrip() + " */"


# ---------------------------------------------------------------------------------------------------------------------
# The library


def header(project: Project, parts: Sequence[Part]) -> str:
    """The header, for C and C++."""
    robot, guard = project.robot, f"FALLINGCAT_{project.stem.upper()}_H"
    about = _comment(
        [
            project.title("dynamics of a robot"),
            "",
            *words.configuration(robot),
            "",
            *words.surroundings(robot),
            "Units are SI; 6-vectors are (linear; angular), wrenches (force; moment). Matrices are stored row by row.",
            "Every function is reentrant: it allocates nothing, has no state, and works in the room that its caller gives it"
            " (the last argument). Arguments must not overlap.",
            *project.object_code,
        ]
    )
    functions = []
    for part in parts:
        lines = [*words.function(robot, part.chosen, part.written.arrays), "", *numbers_of(part)]
        room = f"#define {part.macro} {part.written.workspace}"
        functions.append(f"{_comment(lines)}\n{room}\n{_prototype(part, project.precision)}\n")
    body = "\n".join(functions)
    return f"""{about}
#ifndef {guard}
#define {guard}

#define {project.constant("nq")} {robot.nq} /* entries of a configuration */
#define {project.constant("nv")} {robot.nv} /* entries of a velocity */

#ifdef __cplusplus
extern "C" {{
#endif

{body}
#ifdef __cplusplus
}}
#endif

#endif
"""


def numbers_of(part: Part) -> list[str]:
    """The comment lines on the cost of a call: operations and workspace."""
    return [f"{part.chosen.kernel.program.operations:,} floating-point operations.", *part.notes]


def _prototype(part: Part, precision: str) -> str:
    text = declaration(part.written, precision).replace(", ", ",~").replace(" ", "~").replace(",~", ", ")
    return "\n    ".join(textwrap.wrap(text, 116, break_long_words=False)).replace("~", " ")


def source(project: Project, parts: Sequence[Part]) -> str:
    """The source: everything that the functions need, then the functions."""
    precision = project.precision
    used = frozenset[str]().union(*(part.written.library for part in parts))
    return "\n".join(
        [
            _comment([project.title("C99")]),
            "#include <math.h>",
            "#include <stdint.h>",
            f'#include "{project.stem}.h"',
            "",
            preamble(precision),
            c_library(used, precision),
            *(part.written.text for part in parts),
        ]
    )


def cmake(project: Project, code: str) -> str:
    """CMakeLists.txt; with object files, these are linked instead of compiled."""
    name = project.stem
    compiled = code.endswith(".c")
    target = f"add_library({name} STATIC {code})" if compiled else f"add_library({name} INTERFACE)"
    kind = "PUBLIC" if compiled else "INTERFACE"
    flags = ""
    if compiled:
        flags = f"""
set_target_properties({name} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  # without contraction the results have the same bits everywhere
  target_compile_options({name} PRIVATE -O2 -ffp-contract=off)
  set(FALLINGCAT_MARCH "" CACHE STRING "Processor for -march, as x86-64-v3 or native; one with fma is several times faster")
  if(FALLINGCAT_MARCH)
    target_compile_options({name} PRIVATE -march=${{FALLINGCAT_MARCH}})
  endif()
endif()"""
    objects = "" if compiled else f"\ntarget_link_libraries({name} INTERFACE ${{CMAKE_CURRENT_SOURCE_DIR}}/{code})"
    return f"""# {project.title("CMake")}
cmake_minimum_required(VERSION 3.10)
project({name} C)

{target}
target_include_directories({name} {kind} ${{CMAKE_CURRENT_SOURCE_DIR}}){objects}
if(UNIX)
  target_link_libraries({name} {kind} m)
endif(){flags}

if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  add_executable(example main.c)
  target_link_libraries(example {name})
  add_executable(check check.c)
  target_link_libraries(check {name})
  enable_testing()
  add_test(NAME check COMMAND check)
endif()
"""


# ---------------------------------------------------------------------------------------------------------------------
# Programs


def example(project: Project, part: Part) -> str:
    """A program that calls the first function."""
    robot, precision, written = project.robot, project.precision, part.written
    inputs = len(part.chosen.kernel.task.inputs)
    lines = []
    for k, array in enumerate(written.arrays[:-1]):
        value = ""
        if k < inputs:
            spec = part.chosen.kernel.task.inputs[k]
            numbers = robot.neutral() if spec.quaternions else np.zeros(spec.size)
            value = " = {" + ", ".join(number(x, precision) for x in numbers) + "}" if numbers.any() else " = {0}"
        lines.append(f"  {precision} {array.name}[{max(1, array.size)}]{value};")
    result = written.arrays[inputs]
    return f"""{_comment([project.title("an example")])}
#include <stdio.h>
#include "{project.stem}.h"

int main(void) {{
{chr(10).join(lines)}
  static {precision} workspace[{part.macro}];
  {written.name}({", ".join(a.name for a in written.arrays)});
  for (int i = 0; i < {result.size}; i++) printf("{result.name}[%d] = %.9g\\n", i, (double){result.name}[i]);
  return 0;
}}
"""


def check(project: Project, parts: Sequence[Part]) -> str:
    """A program that compares results with those of Python, computed in double precision."""
    precision = project.precision
    functions = "\n".join(_check_one(project, part) for part in parts)
    calls = "\n".join(f"  worst |= fc_check_{part.chosen.name}();" for part in parts)
    return f"""{_comment([project.title("a check of what was built")])}
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "{project.stem}.h"

/* 0: the same bits as in Python. 1: close. 2: wrong. */
static int fc_compare(const char *name, const {precision} *got, const {precision} *expected, int count) {{
  double largest = 0.0, difference = 0.0;
  int bits = 1, numbers = 1;
  for (int i = 0; i < count; i++) {{
    const double size = fabs((double)expected[i]), d = fabs((double)got[i] - (double)expected[i]);
    if (size > largest) largest = size;
    if (memcmp(got + i, expected + i, sizeof got[i]) == 0) continue;
    if (got[i] != got[i] && expected[i] != expected[i]) continue; /* of NaN, sign and payload are not promised */
    bits = 0;
    if (!(d <= 1e300)) numbers = 0;
    if (d > difference) difference = d;
  }}
  if (bits) {{
    printf("%-48s the same bits\\n", name);
    return 0;
  }}
  const int close = numbers && difference <= {number(TOLERANCES[precision])} * largest;
  printf("%-48s %s: differs by %.3g of %.3g\\n", name, close ? "close" : "WRONG", difference, largest);
  return close ? 1 : 2;
}}

{functions}
int main(void) {{
  int worst = 0;
{calls}
  puts(worst & 2 ? "not what it should be" : worst ? "good" : "good, to the last bit");
  return worst & 2 ? 1 : 0;
}}
"""


def _check_one(project: Project, part: Part) -> str:
    """The code that checks one function; its variables have a prefix, so that arguments may have any name."""
    precision = project.precision
    states, results = vectors(project.robot, part.chosen, precision)
    arrays, inputs = part.written.arrays, len(part.chosen.kernel.task.inputs)
    lines = [f"static int fc_check_{part.chosen.name}(void) {{"]
    for array, values in zip(arrays[:inputs], states, strict=True):
        lines.append(_constants(f"in_{array.name}", values, precision))
    for array, values in zip(arrays[inputs:-1], results, strict=True):
        lines.append(_constants(f"expected_{array.name}", values, precision))
        lines.append(f"  static {precision} got_{array.name}[{STATES}][{max(1, array.size)}];")
    lines.append(f"  static {precision} room[{part.macro}];")
    given = [f"in_{a.name}[k]" for a in arrays[:inputs]] + [f"got_{a.name}[k]" for a in arrays[inputs:-1]]
    lines.append(f"  for (int k = 0; k < {STATES}; k++) {part.written.name}({', '.join([*given, 'room'])});")
    lines.append("  int worst = 0;")
    for array in arrays[inputs:-1]:
        what = f'"{part.chosen.name}, {array.name}", got_{array.name}[0], expected_{array.name}[0]'
        lines.append(f"  worst |= fc_compare({what}, {STATES * array.size});")
    return "\n".join([*lines, "  return worst;", "}", ""])


def _constants(name: str, values: Array, precision: str) -> str:
    rows = ",\n    ".join("{" + ", ".join(number(x, precision) for x in (row if len(row) else [0.0])) + "}" for row in values)
    wrapped = "\n".join(textwrap.fill(row, 120, subsequent_indent="      ") for row in rows.split("\n"))
    return f"  static const {precision} {name}[{len(values)}][{max(1, values.shape[1])}] = {{\n    {wrapped}}};"
