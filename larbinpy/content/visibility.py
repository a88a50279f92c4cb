"""Decides from declarations of CSS whether they hide the text of an element from a reader."""

import re

from larbinpy.content.styles import Declarations

#: Properties that decide together whether an element is shown.
Culprits = tuple[str, ...]

#: Pixels from the edge of the window, on which no part of a box shows any more.
_FAR = 500
_LENGTH = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))(px|em|rem|ex|ch|pt|vw|vh|%)?(?![\w.%])")
_PIXELS = {"": 1.0, "px": 1, "em": 16, "rem": 16, "ex": 8, "ch": 8, "pt": 1.33, "vw": 13, "vh": 8}
_RECT = re.compile(r"rect\(([^)]*)\)")
_CLIPPED = re.compile(r"(?:inset\(\s*(?:[5-9]\d|100)%|circle\(\s*0|polygon\(\s*(?:0\w*[\s,]*)+\))")
_SCALED = re.compile(r"scale(?:3d|x|y)?\(\s*0(?:\.0+)?\s*[,)]")
_MOVED = re.compile(r"translate(?:3d|x|y)?\(([^)]*)\)")
_SHOWS_OVERFLOW = ("", "visible", "auto", "scroll", "initial", "unset", "revert")

_NAMED = {
    "white": (255, 255, 255),
    "black": (0, 0, 0),
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "lime": (0, 255, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "navy": (0, 0, 128),
    "maroon": (128, 0, 0),
    "purple": (128, 0, 128),
    "teal": (0, 128, 128),
    "aqua": (0, 255, 255),
    "cyan": (0, 255, 255),
    "fuchsia": (255, 0, 255),
    "magenta": (255, 0, 255),
    "olive": (128, 128, 0),
    "orange": (255, 165, 0),
    "pink": (255, 192, 203),
    "brown": (165, 42, 42),
    "gold": (255, 215, 0),
    "ivory": (255, 255, 240),
    "snow": (255, 250, 250),
    "beige": (245, 245, 220),
    "whitesmoke": (245, 245, 245),
    "ghostwhite": (248, 248, 255),
    "lightgray": (211, 211, 211),
    "lightgrey": (211, 211, 211),
    "darkgray": (169, 169, 169),
    "darkgrey": (169, 169, 169),
}
_NO_BACKGROUND = ("none", "transparent", "inherit", "initial", "unset", "0", "")
_RGB = re.compile(
    r"rgba?\(\s*([\d.]+%?)[\s,]+([\d.]+%?)[\s,]+([\d.]+%?)(?:[\s,/]+([\d.]+%?))?\s*\)"
)
_COLOR = re.compile(r"#[0-9a-f]{3,8}\b|rgba?\([^)]*\)|[a-z]+")
#: Steps of a channel, of 256, that no reader tells from each other.
_INDISTINCT = 8

Color = tuple[int, int, int]


def hidden_by(style: Declarations) -> Culprits:
    """Return the properties by which `style` hides an element with all in it; () if it does not.

    Opacity is not among them: pages fade in what they show.
    """
    get = style.get
    if _value(get("display")) == "none":
        return ("display",)
    if _value(get("content-visibility")) == "hidden":
        return ("content-visibility",)
    if _far(get("text-indent")) < 0:
        return ("text-indent",)
    if _value(get("position")) in ("absolute", "fixed"):
        for side in ("left", "top", "right", "bottom"):
            if _far(get(side)):
                return ("position", side)
        if _clipped(get("clip")):
            return ("position", "clip")
    if _CLIPPED.match(get("clip-path", "")):
        return ("clip-path",)
    for side in ("margin-left", "margin-top"):
        if _far(get(side)) < 0:
            return (side,)
    transform = get("transform")
    if transform and (_SCALED.search(transform) or _moved(transform)):
        return ("transform",)
    overflow = _value(get("overflow")) or _value(get("overflow-y")) or _value(get("overflow-x"))
    if overflow not in _SHOWS_OVERFLOW and not any(name.startswith("padding") for name in style):
        for side in ("height", "max-height", "width", "max-width"):
            length = pixels(get(side))
            if length is not None and length <= 1:
                return (side, "overflow")
    own = color(get("color")) if "color" in style and has_background(style) else None
    behind = background(style) if own else None
    if own and behind and same_color(own, behind) and not is_clipped_background(style):
        return ("color", "background", "background-color")
    return ()


def is_invisible(style: Declarations) -> bool:
    """Whether `style` hides the text of an element, but not of inner ones that say otherwise."""
    return _value(style.get("visibility")) in ("hidden", "collapse") or font_size(style) == 0


def is_visible(style: Declarations) -> bool:
    """Whether `style` shows an element within one that is invisible."""
    return _value(style.get("visibility")) == "visible" or bool(font_size(style))


def culprits(style: Declarations) -> Culprits:
    """Return the properties by which `style` hides text in one way or the other."""
    found = hidden_by(style)
    if found or not is_invisible(style):
        return found
    return ("visibility",) if font_size(style) != 0 else ("font-size",)


def font_size(style: Declarations) -> float | None:
    """Return the font size in pixels; None if it is not declared or relative."""
    if "font-size" in style:
        return pixels(style["font-size"])
    if "font" in style:
        sizes = [match for match in _LENGTH.finditer(style["font"]) if match[2] or match[1] == "0"]
        return pixels(sizes[0][0]) if sizes else None
    return None


def pixels(value: str | None) -> float | None:
    """Return a length in pixels, for letters of 16 pixels; None if it is none, or a share."""
    match = _LENGTH.match(value) if value else None
    if match is None:
        return None
    number = float(match[1])
    if match[2] == "%":
        return None if number else 0.0
    return number * _PIXELS[match[2] or ""]


def has_background(style: Declarations) -> bool:
    """Whether `style` puts something behind the text."""
    return any(
        style.get(name, "none").partition("!")[0].strip() not in _NO_BACKGROUND
        for name in ("background", "background-color", "background-image")
    )


def background(style: Declarations) -> Color | None:
    """Return the colour behind the text; None if it is not known, or a picture."""
    image = style.get("background-image", "") + style.get("background", "")
    if "(" in image.replace("rgb(", "").replace("rgba(", ""):
        return None
    return color(style.get("background-color")) or color(style.get("background"))


def is_clipped_background(style: Declarations) -> bool:
    """Whether the text is a window on its background, so that its colour does not show."""
    return any(name.endswith("background-clip") for name in style)


def color(value: str | None) -> Color | None:
    """Return the first colour in `value`; None if there is none, or one that is not known."""
    for match in _COLOR.finditer(value or ""):
        found = _color(match[0])
        if found is not None:
            return found
    return None


def same_color(one: Color, other: Color) -> bool:
    """Whether a reader cannot tell them from each other."""
    return all(abs(a - b) <= _INDISTINCT for a, b in zip(one, other, strict=True))


def _color(text: str) -> Color | None:
    if text[0] == "#":
        digits = text[1:]
        if len(digits) in (3, 4):
            digits = "".join(2 * digit for digit in digits)
        if len(digits) not in (6, 8) or digits[6:] not in ("", "ff"):
            return None
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
    match = _RGB.match(text)
    if match is None:
        return _NAMED.get(text)
    if match[4] not in (None, "1", "1.0", "100%"):
        return None
    red, green, blue = (
        min(255, round(float(each.rstrip("%")) * (2.55 if each.endswith("%") else 1)))
        for each in match.group(1, 2, 3)
    )
    return red, green, blue


def _value(text: str | None) -> str:
    return text.partition("!")[0].strip() if text else ""


def _far(text: str | None) -> int:
    """-1 or 1 if a length leads out of the window, else 0."""
    if not text or text[0] not in "-.0123456789":
        return 0
    length = pixels(text)
    if length is None:
        # A share of the box around it, which is most often the window.
        return -(text.startswith("-") and float(text.partition("%")[0]) <= -100)
    if abs(length) < _FAR:
        return 0
    # Boxes are placed far to the right or below on long pages; nobody needs 5,000 pixels.
    return -1 if length < 0 else int(length >= 10 * _FAR)


def _clipped(text: str | None) -> bool:
    match = _RECT.match(text) if text else None
    if match is None:
        return False
    sides = [pixels(each) for each in re.split(r"[\s,]+", match[1].strip())]
    return all(side is not None and abs(side) <= 1 for side in sides)


def _moved(transform: str) -> bool:
    match = _MOVED.search(transform)
    return match is not None and any(_far(each.strip()) for each in match[1].split(","))
