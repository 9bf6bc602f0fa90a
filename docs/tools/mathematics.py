"""Formulas on the pages: LaTeX between dollars -> MathML, when the site is built. A browser needs no script and no network.

`pymdownx.arithmatex` finds the formulas; `typeset` converts what it marks. A formula that cannot be converted stops the build.
"""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

MARKED = re.compile(r'<(?P<tag>span|div) class="arithmatex">(?P<text>.*?)</(?P=tag)>', re.DOTALL)

WORDS = {
    r"\ad": r"\operatorname{ad}", r"\Ad": r"\operatorname{Ad}", r"\tr": r"\operatorname{tr}", r"\diag": r"\operatorname{diag}",
    r"\FD": r"\operatorname{FD}", r"\ID": r"\operatorname{ID}", r"\expo": r"\operatorname{exp}",
    r"\T": r"{\top}", r"\half": r"\tfrac{1}{2}", r"\R": "ℝ", r"\one": r"\mathbf{1}", r"\dnu": r"\dot{\nu}",
    r"\xs": r"\times^{*}", r"\tad": r"\widetilde{\operatorname{ad}}",
}  # fmt: skip
"""Abbreviations of these pages."""
ABBREVIATION = re.compile(r"\\([A-Za-z]+)")


def typeset(page: str) -> str:
    """HTML with its formulas as MathML."""
    return MARKED.sub(lambda found: _formula(html.unescape(found["text"])), page)


def _formula(marked: str) -> str:
    text, block = marked.strip(), marked.strip().startswith(r"\[")
    return mathml(text[2:-2].strip(), block)


def mathml(latex: str, block: bool = False) -> str:
    """One formula; several lines of a displayed one are set below each other, aligned at &."""
    long = ABBREVIATION.sub(lambda found: WORDS.get(found[0], found[0]), latex)
    if block and r"\\" in long and not long.startswith(r"\begin"):
        rows = [line.strip() for line in re.split(r"\\\\(?![^{}]*\\end)", long) if line.strip()]
        columns = "rl" * max(line.count("&") // 2 + 1 for line in rows) if any("&" in line for line in rows) else "l"
        long = r"\begin{array}{" + columns + "}" + r" \\ ".join(rows) + r"\end{array}"
    made = convert(long, display="block" if block else "inline")
    if "\\" in re.sub(r"<[^>]*>", "", made).replace("\\\\", ""):
        raise ValueError(f"a formula that cannot be typeset: {latex}")
    made = NAME.sub(r"<mi>\1</mi>", made)  # names of functions stand close to what they are about
    made = _letters(made).replace("<math ", f'<math alttext="{html.escape(latex, quote=True)}" ', 1)
    return f'<div class="formula">{made}</div>' if block else made


NAME = re.compile(r"<mo>([A-Za-z]{2,})</mo>")
ALPHABETS = {"script": 0x1D49C, "fraktur": 0x1D504, "double-struck": 0x1D538, "bold": 0x1D400}
"""Where Unicode has the capital A of letters that browsers do not make of `mathvariant`."""
EXCEPTIONS = {("script", "B"): "ℬ", ("script", "L"): "ℒ", ("script", "M"): "ℳ", ("double-struck", "R"): "ℝ"}
VARIANT = re.compile(r'<m(?P<tag>[ino]) mathvariant="(?P<variant>[a-z-]+)">(?P<letter>[A-Za-z0-9])</m[ino]>')


def _letters(made: str) -> str:
    """Letters of other alphabets as characters of their own: MathML Core knows no `mathvariant` but normal."""

    def letter(found: re.Match[str]) -> str:
        variant, x = found["variant"], found["letter"]
        if variant == "normal" or variant not in ALPHABETS:
            return found[0]
        if x.isdigit():
            return f"<mn>{chr(0x1D7CE + int(x))}</mn>" if variant == "bold" else found[0]
        start = ALPHABETS[variant] + (ord(x) - ord("A") if x.isupper() else 26 + ord(x) - ord("a"))
        return f"<mi>{EXCEPTIONS.get((variant, x), chr(start))}</mi>"

    return VARIANT.sub(letter, made)
