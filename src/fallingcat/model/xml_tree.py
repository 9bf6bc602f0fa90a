"""XML text to a small tree that knows its line numbers, safe against hostile files.

Expat is used directly because the tree builders of the standard library drop line numbers
and expand entities. Here nothing is expanded or fetched, and size, depth and number of
elements are bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from fallingcat.model.report import printable, quoted

MAX_SIZE = 16_000_000
"""Largest size of a text in characters or bytes; the largest robots need less than one million."""
MAX_DEPTH = 64
"""Largest depth of nested elements; URDF needs about six."""
MAX_DEPTHS = {"mujoco": 256}
"""Largest depth of nested elements by root element, if it differs: bodies of MJCF are nested."""
MAX_ELEMENTS = 200_000
MAX_TEXT = 10_000
"""Largest number of characters between the tags of one element, approximately."""


class XmlError(Exception):
    """Raised for a text that cannot be read as XML here."""

    def __init__(self, message: str, *, hint: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line = line


@dataclass(slots=True)
class Element:
    """One element. URDF and MJCF have their values in attributes, SDF mostly in the text between tags."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Element]:
        """The direct children with this tag."""
        return [child for child in self.children if child.tag == tag]

    def get(self, attribute: str) -> str | None:
        """The attribute's text, or None when it is absent."""
        return self.attributes.get(attribute)


def parse_xml(text: str | bytes) -> Element:
    """The root element; bytes are decoded as their XML declaration says. Raises `XmlError`."""
    if len(text) > MAX_SIZE:
        raise XmlError(
            f"the text is too large: more than {MAX_SIZE // 1_000_000} MB",
            hint="a robot description holds no meshes or data; check that this is the right file",
        )
    return _TreeBuilder().parse(text)


class _TreeBuilder:
    """Builds the tree from expat's events."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate()
        self._parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._entity
        self._parser.AttlistDeclHandler = self._declaration
        self._parser.ElementDeclHandler = self._declaration
        self._parser.NotationDeclHandler = self._declaration
        self._root: Element | None = None
        self._open: list[Element] = []
        self._count = 0

    def parse(self, text: str | bytes) -> Element:
        try:
            self._parser.Parse(text, True)
        except expat.ExpatError as error:
            raise self._explain(error) from None
        except UnicodeEncodeError:
            raise XmlError("the text holds characters that are not valid Unicode", hint="save it as UTF-8") from None
        except (LookupError, ValueError) as error:
            # Raised by the codec machinery for the encoding named in the XML declaration.
            raise XmlError(f"the encoding cannot be read: {error}", hint="save the file as UTF-8", line=1) from None
        if self._root is None:
            raise XmlError("the text holds no element", hint="a description starts with <robot name=...>")
        return self._root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        self._count += 1
        deepest = MAX_DEPTH if self._root is None else MAX_DEPTHS.get(self._root.tag, MAX_DEPTH)
        if len(self._open) >= deepest:
            raise XmlError(
                f"elements are nested more than {deepest} deep",
                hint="a robot description is nearly flat: links and joints sit side by side inside <robot>",
                line=line,
            )
        if self._count > MAX_ELEMENTS:
            raise XmlError(f"more than {MAX_ELEMENTS} elements", hint="check that this is the right file", line=line)
        element = Element(tag, attributes, line)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)

    def _end(self, tag: str) -> None:
        self._open.pop()

    def _characters(self, text: str) -> None:
        """Collect text between tags, for SDF only, and up to a length that exceeds any number or name."""
        if self._root is not None and self._root.tag == "sdf" and self._open and not text.isspace():
            element = self._open[-1]
            if len(element.text) < MAX_TEXT:
                element.text += text

    def _doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        if system is not None or public is not None:
            raise XmlError(
                "the DOCTYPE points to another document, which is never fetched",
                hint="delete the <!DOCTYPE ...> line",
                line=self._parser.CurrentLineNumber,
            )

    def _entity(
        self,
        name: str,
        is_parameter: bool,
        value: str | None,
        base: str | None,
        system: str | None,
        public: str | None,
        notation: str | None,
    ) -> None:
        raise XmlError(
            f"the entity {quoted(name)} is declared; entities are neither expanded nor fetched",
            hint="delete the declaration and write the text out where it is used",
            line=self._parser.CurrentLineNumber,
        )

    def _declaration(self, name: str, *rest: object) -> None:
        """Refuse declarations: defaults of attributes would be added to every element, of which there can be very many."""
        raise XmlError(
            f"the DOCTYPE declares something about {quoted(name)}; declarations are not read",
            hint="delete the <!DOCTYPE ...> with all that is in its brackets, and write attributes where they belong",
            line=self._parser.CurrentLineNumber,
        )

    def _explain(self, error: expat.ExpatError) -> XmlError:
        """Expat's error as an `XmlError` with a longer message."""
        words = expat.ErrorString(error.code) or "syntax error"
        codes = expat.errors.codes
        hint = "mend the XML at this line or just before it"
        inside = self._open[-1] if self._open else None
        if error.code in (codes[expat.errors.XML_ERROR_NO_ELEMENTS], codes[expat.errors.XML_ERROR_UNCLOSED_TOKEN]):
            if inside is not None:
                words = f"the text ends inside <{printable(inside.tag)}>, opened at line {inside.line}"
                hint = "the file seems to be cut off; close every element"
            elif self._root is None:
                words = f"the text holds no complete element ({words})"
                hint = "a description starts with <robot name=...> and ends with </robot>"
        elif error.code == codes[expat.errors.XML_ERROR_TAG_MISMATCH] and inside is not None:
            words = f"a closing tag does not match <{printable(inside.tag)}>, opened at line {inside.line}"
            hint = f"write </{printable(inside.tag)}> first, or correct the name"
        elif error.code == codes[expat.errors.XML_ERROR_MISPLACED_XML_PI]:
            hint = "delete the blanks and lines before <?xml ...?>"
        elif error.code == codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]:
            hint = "a file holds one root element, and nothing may follow its closing tag"
        elif error.code == codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]:
            hint = "write a plain & as &amp;"
        return XmlError(f"not well-formed XML: {words}", hint=hint, line=error.lineno)
