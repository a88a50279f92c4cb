"""Pages of all types that `larbinpy.database.content` reads."""

from larbinpy.database.content import Content, read
from larbinpy.page import Outcome, Page
from larbinpy.url import Url

URL = "http://www.example.test/a/page"
#: 2026-09-21.
AT = 1_790_000_000.0


def page(body: str | bytes, kind: str = "text/html", url: str = URL) -> Page:
    """A page of the media type `kind`, in UTF-8."""
    if isinstance(body, str):
        body, kind = body.encode(), f"{kind}; charset=utf-8"
    return Page(Url(url, 3), Outcome.SUCCESS, 200, [("content-type", kind)], body)


def content(body: str | bytes, kind: str = "text/html", url: str = URL) -> Content:
    return read(page(body, kind, url), AT)


def pdf(*texts: str, **metadata: str) -> bytes:
    """A PDF with a page for each of `texts`, whose lines are in Latin-1."""
    count = len(texts)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    about = " ".join(f"/{name} ({value})" for name, value in metadata.items())
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} /MediaBox [0 0 600 800] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(texts):
        shown = " T* ".join(f"({each}) Tj" for each in text.splitlines())
        stream = f"BT /F1 12 Tf 14 TL 50 700 Td {shown} ET"
        resources = "/Resources << /Font << /F1 3 0 R >> >>"
        bodies.append(f"<< /Type /Page /Parent 2 0 R {resources} /Contents {5 + 2 * n} 0 R >>")
        bodies.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    bodies.append(f"<< {about} >>")
    out = "%PDF-1.4\n"
    places = []
    for number, body in enumerate(bodies, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(bodies) + 1
    table = f"xref\n0 {size}\n0000000000 65535 f \n{rows}"
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R >>\n"
    return f"{out}{table}{trailer}startxref\n{len(out)}\n%%EOF\n".encode("latin-1")
