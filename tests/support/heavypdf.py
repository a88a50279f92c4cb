"""PDFs of some kilobytes that ask for much memory."""

import zlib
from collections.abc import Sequence

_FONT = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def forms(wide: int, deep: int) -> bytes:
    """A page with a form that draws a form, and so on `deep` times, each `wide` times."""
    page = "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</XObject<</X 6 0 R>>>>>>"
    objects: list[bytes | str] = [*_front("3 0 R", 1), page, _stream("/X Do"), _FONT]
    for number in range(7, 6 + deep):
        inner = f"/Type/XObject/Subtype/Form/Resources<</XObject<</X {number} 0 R>>>>"
        objects.append(_stream("/X Do " * wide, inner))
    text = "/Type/XObject/Subtype/Form/Resources<</Font<</F 5 0 R>>>>"
    objects.append(_stream("BT /F 12 Tf (Text) Tj ET", text))
    return _pdf(objects)


def repeated(times: int, lines: int) -> bytes:
    """One page of so many lines of text, listed `times` times."""
    page = "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>"
    text = _stream("BT /F 12 Tf 9 TL" + " (some words) Tj T*" * lines + " ET")
    return _pdf([*_front("3 0 R " * times, times), page, text, _FONT])


def _front(kids: str, count: int) -> list[str]:
    pages = f"<</Type/Pages/Kids[{kids}]/Count {count}/MediaBox[0 0 600 800]>>"
    return ["<</Type/Catalog/Pages 2 0 R>>", pages]


def _stream(text: str, about: str = "") -> bytes:
    data = zlib.compress(text.encode(), 9)
    head = f"<<{about}/Filter/FlateDecode/Length {len(data)}>>"
    return head.encode() + b"\nstream\n" + data + b"\nendstream"


def _pdf(objects: Sequence[bytes | str]) -> bytes:
    data, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        text = each if isinstance(each, bytes) else each.encode()
        data += f"{number} 0 obj\n".encode() + text + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<</Size {size}/Root 1 0 R>>\n"
    return data + f"{end}startxref\n{len(data)}\n%%EOF\n".encode()
