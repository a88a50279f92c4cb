/* The elements that are more than text between tags. */

#include "elements.h"

#define NAMED(name, role, traits) {name, sizeof name - 1, role, traits}

/* By the first letter; an empty entry ends each row. */
static const Element ELEMENTS[26][16] = {
    ['a' - 'a'] = {NAMED("a", ANCHOR, SHAPE), NAMED("area", ANCHOR, VOID), NAMED("audio", RARE, 0),
                   NAMED("applet", RARE, 0), NAMED("amp-img", RARE, 0),
                   NAMED("amp-anim", RARE, 0), NAMED("amp-video", RARE, 0),
                   NAMED("amp-audio", RARE, 0), NAMED("amp-iframe", RARE, 0),
                   NAMED("animate", PLAIN_ELEMENT, SHAPE),
                   NAMED("animatemotion", PLAIN_ELEMENT, SHAPE),
                   NAMED("animatetransform", PLAIN_ELEMENT, SHAPE)},
    ['b' - 'a'] = {NAMED("br", PLAIN_ELEMENT, VOID), NAMED("base", BASE, VOID),
                   NAMED("body", DROPPED, 0), NAMED("blockquote", RARE, 0),
                   NAMED("bgsound", RARE, VOID), NAMED("button", BUTTON, 0)},
    ['c' - 'a'] = {NAMED("col", DROPPED, VOID), NAMED("colgroup", DROPPED, 0),
                   NAMED("caption", DROPPED, 0), NAMED("circle", PLAIN_ELEMENT, SHAPE),
                   NAMED("clippath", PLAIN_ELEMENT, SHAPE)},
    ['d' - 'a'] = {NAMED("defs", PLAIN_ELEMENT, SHAPE), NAMED("desc", PLAIN_ELEMENT, SHAPE),
                   NAMED("del", RARE, 0)},
    ['e' - 'a'] = {NAMED("embed", RARE, VOID), NAMED("ellipse", PLAIN_ELEMENT, SHAPE)},
    ['f' - 'a'] = {NAMED("form", FORM, 0), NAMED("frame", FRAME, VOID), NAMED("frameset", ODD, 0),
                   NAMED("filter", RARE, SHAPE)},
    ['g' - 'a'] = {NAMED("g", PLAIN_ELEMENT, SHAPE)},
    ['h' - 'a'] = {NAMED("hr", PLAIN_ELEMENT, VOID), NAMED("html", DROPPED, 0),
                   NAMED("head", DROPPED, 0)},
    ['i' - 'a'] = {NAMED("img", IMG, VOID), NAMED("input", INPUT, VOID), NAMED("iframe", IFRAME, 0),
                   NAMED("image", IMG, SHAPE), NAMED("ins", RARE, 0),
                   NAMED("isindex", RARE, 0)},
    ['l' - 'a'] = {NAMED("link", LINK, VOID), NAMED("line", PLAIN_ELEMENT, SHAPE),
                   NAMED("lineargradient", PLAIN_ELEMENT, SHAPE)},
    ['m' - 'a'] = {NAMED("meta", META, VOID), NAMED("math", ODD, 0), NAMED("mpath", RARE, SHAPE),
                   NAMED("mask", PLAIN_ELEMENT, SHAPE), NAMED("marker", PLAIN_ELEMENT, SHAPE),
                   NAMED("metadata", PLAIN_ELEMENT, SHAPE)},
    ['n' - 'a'] = {NAMED("noscript", DROPPED, 0), NAMED("noembed", RAW, 0),
                   NAMED("noframes", NOFRAMES, 0)},
    ['o' - 'a'] = {NAMED("object", RARE, 0)},
    ['p' - 'a'] = {NAMED("path", PLAIN_ELEMENT, SHAPE), NAMED("polygon", PLAIN_ELEMENT, SHAPE),
                   NAMED("polyline", PLAIN_ELEMENT, SHAPE), NAMED("pattern", RARE, SHAPE),
                   NAMED("plaintext", ODD, 0), NAMED("param", PARAM, VOID)},
    ['q' - 'a'] = {NAMED("q", RARE, 0)},
    ['r' - 'a'] = {NAMED("rect", PLAIN_ELEMENT, SHAPE),
                   NAMED("radialgradient", PLAIN_ELEMENT, SHAPE)},
    ['s' - 'a'] = {NAMED("script", SCRIPT, 0), NAMED("select", DROPPED, 0),
                   NAMED("source", SOURCE, VOID), NAMED("svg", SVG, SHAPE),
                   NAMED("style", STYLES, SHAPE), NAMED("set", PLAIN_ELEMENT, SHAPE),
                   NAMED("stop", PLAIN_ELEMENT, SHAPE), NAMED("symbol", PLAIN_ELEMENT, SHAPE),
                   NAMED("selectedcontent", ODD, 0)},
    ['t' - 'a'] = {NAMED("td", DROPPED, 0), NAMED("tr", DROPPED, 0), NAMED("th", DROPPED, 0),
                   NAMED("tbody", DROPPED, 0), NAMED("thead", DROPPED, 0),
                   NAMED("tfoot", DROPPED, 0), NAMED("title", RAW, SHAPE),
                   NAMED("textarea", RAW, 0), NAMED("template", TEMPLATE, 0),
                   NAMED("track", RARE, VOID), NAMED("text", PLAIN_ELEMENT, SHAPE),
                   NAMED("tspan", PLAIN_ELEMENT, SHAPE), NAMED("textpath", PLAIN_ELEMENT, SHAPE)},
    ['u' - 'a'] = {NAMED("use", RARE, SHAPE)},
    ['v' - 'a'] = {NAMED("video", RARE, 0)},
    ['w' - 'a'] = {NAMED("wbr", PLAIN_ELEMENT, VOID)},
    ['x' - 'a'] = {NAMED("xmp", RAW, 0)},
};

const Element *element_named(Text name)
{
    static const Element OTHERS = {NULL, 0, PLAIN_ELEMENT, 0};
    for (const Element *element = ELEMENTS[lower(*name.at) - 'a']; element->name; element++)
        if (element->size == name.size && spells(name.at, element->name, name.size))
            return element;
    return &OTHERS;
}
