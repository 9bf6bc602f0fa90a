"""Ways to spoil a description file, from a changed byte to another encoding."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from .seeds import REFERENCES

NUMBERS = (
    "nan", "inf", "-inf", "1e-320", "-1e-320", "1e308", "-1e308", "1e400", "0", "-0", "1e-17", "1e17", "1e", "0x10", "1_000",
    "1,5",
    "\u0661\u0662", "", " ", "--1", "1 2", "1" * 400, "0." + "0" * 400 + "1", "9" * 5000, "\u22121",
    "1e999999999", "1d0", "True", "NaN(1)",
)  # fmt: skip
NAMES = (
    "", " ", "a", "world", "\u202egnp", "\u0007bell", "\x1b[31m", "a\nb", "\u0000", "x" * 5000, "\ud7ff", "\U0001f408",
    "../../etc/passwd", "{x}", "%s%n", "'; --", "\u00e9\u0301", "\u200b", "\ufeff", "\u2028", "base", "__class__", "link0",
    "fixed", "revolute", "spherical",
)  # fmt: skip
DOCTYPES = (
    '<!DOCTYPE robot [<!ENTITY a "b">]>',
    '<!DOCTYPE robot [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>',
    '<!DOCTYPE robot SYSTEM "file:///etc/passwd">',
    '<!DOCTYPE robot PUBLIC "x" "http://localhost/x">',
    '<!DOCTYPE robot [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>',
    '<!DOCTYPE robot [<!ATTLIST link a CDATA "' + "x" * 2000 + '">]>',
    '<!DOCTYPE robot [<!ATTLIST link name CDATA #FIXED "b"><!ELEMENT link EMPTY>]>',
    "<!DOCTYPE robot>",
    "<!DOCTYPE robot [",
    '<?xml-stylesheet href="x"?>',
    "<![CDATA[x]]>",
    "<!-- -- -->",
)
ENCODINGS = ("utf-16", "utf-32", "utf-7", "latin-1", "cp037", "utf-8-sig", "shift_jis", "utf-16-le")
DECLARED = ("utf-16", "latin-1", "idna", "base64", "rot13", "utf-7", "punycode", "no-such", "cp037", "zlib", "unicode_escape", "")

_NUMBER = re.compile(r"(?<=[\s\"'>])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?=[\s\"'<])")
_ATTRIBUTE = re.compile(r"(?<![\w:])([\w:]+)=\"([^\"]*)\"")
_WORD = re.compile(r"(?<=>)[\w:]+(?=</)")
_TAG = re.compile(r"<[^<>]+>")


def _replace(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start()] + new + text[match.end() :]


def _one(pattern: re.Pattern[str], text: str, random: Random) -> re.Match[str] | None:
    """A match somewhere: the first after a random place, or after the beginning."""
    return pattern.search(text, random.randrange(len(text) + 1)) or pattern.search(text)


def number(text: str, random: Random) -> str:
    """A number becomes another, or none."""
    match = _one(_NUMBER, text, random)
    odd = random.choice(NUMBERS) if random.random() < 0.8 else repr(random.uniform(-1, 1) * 10 ** random.randint(-320, 308))
    return text if match is None else _replace(text, match, odd)


def name(text: str, random: Random) -> str:
    """A value becomes a name that is odd, or that of something else."""
    match = _one(_ATTRIBUTE, text, random)
    if match is None:
        return text
    others = [m.group(2) for m in _ATTRIBUTE.finditer(text) if m.group(1) in REFERENCES]
    new = random.choice(NAMES if random.random() < 0.5 or not others else others)
    return _replace(text, match, f'{match.group(1)}="{new}"')


def word(text: str, random: Random) -> str:
    """What stands between tags, as names do in SDF, becomes a name that is odd, or that of something else."""
    match = _one(_WORD, text, random)
    if match is None:
        return name(text, random)
    others = [m.group() for m in _WORD.finditer(text)] + [m.group(2) for m in _ATTRIBUTE.finditer(text)]
    return _replace(text, match, random.choice(NAMES if random.random() < 0.4 else others))


def attribute(text: str, random: Random) -> str:
    """An attribute goes, comes twice, loses its quotes or gets another name."""
    match = _one(_ATTRIBUTE, text, random)
    if match is None:
        return text
    key, value = match.groups()
    choices = ("", f'{key}="{value}" {key}="{value}"', f"{key}={value}", f'{key[::-1]}="{value}"', f'{key}="{value} {value}"')
    return _replace(text, match, random.choice(choices))


def tag(text: str, random: Random) -> str:
    """Tags change places, go, or come again."""
    first, second = _one(_TAG, text, random), _one(_TAG, text, random)
    if first is None or second is None:
        return text
    way = random.randrange(4)
    if way == 0:
        return _replace(text, first, "")
    if way == 1:
        return _replace(text, first, first.group() * random.choice((2, 3, 50)))
    if way == 2:
        return _replace(text, first, second.group())
    return _replace(text, first, first.group().replace("/>", ">") if "/>" in first.group() else first.group()[:-1] + "/>")


def slices(text: str, random: Random) -> str:
    """A piece moves, goes, or comes many times."""
    a, b = sorted(random.randrange(len(text) + 1) for _ in range(2))
    piece = text[a:b]
    way = random.randrange(4)
    if way == 0:
        return text[:a] + text[b:]
    if way == 1:
        return text[:b] + piece * random.choice((1, 2, 20)) + text[b:]
    if way == 2:
        at = random.randrange(len(text) + 1)
        return text[:at] + piece + text[at:]
    return text[:a]


def nesting(text: str, random: Random) -> str:
    """Elements inside each other, more than any robot needs."""
    match = _one(_TAG, text, random)
    depth = random.choice((2, 60, 70, 1000, 20_000))
    return text if match is None else _replace(text, match, "<a>" * depth + match.group() + "</a>" * depth)


def many(text: str, random: Random) -> str:
    """Hundreds of links and joints, all with new names: a chain, a star, or followers of each other."""
    count, way = random.choice((10, 100, 300)), random.randrange(3)
    rows = []
    for k in range(count):
        parent = f"m{k - 1}" if k and way != 1 else "world"
        if "</model>" in text:
            ends = f"<parent>{parent}</parent><child>m{k}</child>"
            rows.append(f'<link name="m{k}"/><joint name="i{k}" type="continuous">{ends}<axis/></joint>')
            continue
        more = f'<mimic joint="i{k - 1}"/>' if k and way == 2 else ""
        ends = f'<parent link="{parent}"/><child link="m{k}"/>'
        rows.append(f'<link name="m{k}"/><joint name="i{k}" type="continuous">{ends}{more}</joint>')
    head, middle, tail = text.rpartition("</model>" if "</model>" in text else "</robot>")
    return head + "".join(rows) + middle + tail


def doctype(text: str, random: Random) -> str:
    """Declarations, comments and instructions."""
    odd = random.choice(DOCTYPES)
    at = text.find("?>") + 2 if "?>" in text else 0
    if random.random() < 0.2:
        at = random.randrange(len(text) + 1)
    return text[:at] + odd + text[at:] if random.random() < 0.7 else (text[:at] + odd + text[at:]).replace('"1"', '"&a;"', 3)


Mutation = Callable[[str, Random], str]
TEXT: tuple[Mutation, ...] = (*[number] * 8, *[name] * 3, *[word] * 3, attribute, attribute, tag, slices, nesting, many, doctype)


def _flip(data: bytearray, random: Random) -> None:
    for _ in range(random.choice((1, 1, 2, 8))):
        if data:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def encode(text: str, random: Random) -> bytes:
    """As bytes: most often UTF-8, otherwise another encoding, declared or not, or with bytes changed."""
    way = random.random()
    if way < 0.75:
        return text.encode("utf-8", "surrogatepass")
    if way < 0.83:
        return text.encode(random.choice(ENCODINGS), "replace")
    if way < 0.9:
        body = re.sub(r"^<\?xml[^>]*\?>", "", text)
        return f'<?xml version="1.0" encoding="{random.choice(DECLARED)}"?>{body}'.encode("utf-8", "surrogatepass")
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    _flip(data, random)
    return bytes(data)


def mutated(healthy: bytes, random: Random) -> bytes:
    """A spoilt file: some mutations of the text, then of its bytes."""
    text = healthy.decode("utf-8")
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        text = random.choice(TEXT)(text, random)
        if len(text) > 2_000_000:
            break
    return encode(text, random)
