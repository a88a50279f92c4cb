"""Tells boilerplate from content by the tags, roles, classes and ids of elements.

The words are those that sites agree on. Each was kept because it made the main text better, on
pages of several kinds and in both halves of two sets of pages.
"""

import re

#: Elements that are never main text, by tag and by role.
TAGS = frozenset(
    (
        *("nav", "header", "footer", "aside", "menu", "figcaption"),
        *("form", "button", "select", "textarea"),
    )
)
ROLES = frozenset(
    (
        *("banner", "navigation", "menu", "menubar", "toolbar", "tablist", "search"),
        *("complementary", "contentinfo", "dialog", "alertdialog"),
    )
)
#: Words of a class or id, which stand between separators or at changes of case.
_LIST = """
    nav navbar navigation sidenav topnav mainnav subnav menu megamenu submenu toolbar topbar footer
    masthead banner sidebar sidebars aside rail breadcrumb breadcrumbs crumbs pager pagination jump
    skiplink language leftsidebar rightsidebar
    ad ads advert adverts advertisement advertising sponsor sponsors sponsored promo promos
    promotion outbrain taboola paywall
    share sharing social socials newsletter newsletters subscribe subscription signup signin login
    cookie cookies consent gdpr popup popups modal lightbox offcanvas drawer tooltip notice notices
    disclaimer copyright
    related recommend recommended recommendations recirc trending popular
    comment comments respond reviews customerreview productreview feedback ratings
    bio author byline timestamp meta metadata avatar flair badge badges signature tag tags
    caption credit credits attribution gallery
    filters facet sort actions buttons button btn
    visuallyhidden visually sr screenreader
"""
_WORDS = frozenset(
    form for word in _LIST.split() for form in (word, word.capitalize(), word.upper())
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
#: Characters of names that are looked at, and classes that are remembered.
_LONGEST = 300
_MOST = 1 << 14


def is_boilerplate(names: str) -> bool:
    """Whether an element with the classes, or the id, `names` is most likely boilerplate."""
    names = names[:_LONGEST]
    if names.islower():
        # Faster than an expression, and true of most names.
        words = names.replace("_", "-").replace(" ", "-").split("-")
    else:
        words = _WORD.findall(names)
    return not _WORDS.isdisjoint(words)


class _Classes(dict[str, bool]):
    """`is_boilerplate` of classes, which the pages of a site share; most ids are of one page."""

    def __missing__(self, names: str) -> bool:
        found = is_boilerplate(names)
        if len(names) <= _LONGEST:
            if len(self) >= _MOST:
                self.clear()
            self[names] = found
        return found


CLASSES = _Classes()
