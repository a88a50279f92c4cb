/* Finds the references of an HTML page in its tags, without a tree.
**
** The tree of the HTML standard is the definition of the result: larbinpy/parse/html.py reads it. The
** promise: a page that is not LEFT to the tree has the same references, kinds, nofollow and robots
** directives here and there. Their order is that of the text, which is that of the tree except where
** the tree moves elements out of a table. One case is excepted: turbohtml's tree drops the text of
** elements nested deeper than 508, and so the links of a style there, and it reads SVG at that depth
** by the rules of HTML. Such pages are LEFT unless end tags that close nothing hide their depth.
**
** A tag's attributes become an element of the tree unless the standard drops the tag. It does so
**   - within raw text, which is passed over; a script that holds "<!--" and "<script" is LEFT;
**   - for a form within a form, which `in_form` follows, and in templates, which are LEFT then;
**   - for parts of a table outside of one, and elements that merge or nest in their own ways (html,
**     head, body, select, noscript): LEFT if one of them has a link of its own, which is rare;
**   - in framesets and after <plaintext>: LEFT.
** Within SVG other rules hold. The elements of drawings, well nested, are read; all else is LEFT, as
** is MathML.
**
** All that is rare but local is read by the tree as well: a tag with srcset, a style with url(), a
** reference such as "&eacute;" or a letter outside of ASCII is passed to the reader as it stands.
*/

#include "links.h"

#include <string.h>

#include "memo.h"

/* Pages with more references are LEFT; the tree's reader has the bounds. */
#define MOST_REFERENCES 30000

/* Start tags less end tags, without elements that have no content, from which on styles and SVG are
** LEFT. */
#define MOST_DEPTH 500

/* The credit of an empty page: see `may_ask`. */
#define LEAST_CREDIT 2000

/* The longest `rel` that is looked at here; the reader cuts longer ones. */
#define LONGEST_RELATION 256

typedef enum {
    PLAIN_ELEMENT,            /* no links but those that any element may have */
    ANCHOR, LINK, IMG, SCRIPT, IFRAME, FORM, META, BASE,
    RARE,                     /* has links that the reader knows */
    RAW,                      /* raw text without links of its own */
    STYLES,
    DROPPED,                  /* dropped or merged in some places */
    FRAME,                    /* dropped where there is no frameset */
    TEMPLATE, SVG,
    ODD,                      /* other rules hold for its content */
} Role;

/* SHAPE: within SVG the element needs no other rule than good nesting. VOID: it has no content. */
enum { SHAPE = 1, VOID = 2 };

typedef struct {
    const char *name;
    size_t size;
    Role role;
    int traits;
} Element;

#define NAMED(name, role, traits) {name, sizeof name - 1, role, traits}

/* By the first letter; an empty entry ends each row. */
static const Element ELEMENTS[26][16] = {
    ['a' - 'a'] = {NAMED("a", ANCHOR, SHAPE), NAMED("area", ANCHOR, VOID), NAMED("audio", RARE, 0),
                   NAMED("animate", PLAIN_ELEMENT, SHAPE),
                   NAMED("animatemotion", PLAIN_ELEMENT, SHAPE),
                   NAMED("animatetransform", PLAIN_ELEMENT, SHAPE)},
    ['b' - 'a'] = {NAMED("br", PLAIN_ELEMENT, VOID), NAMED("base", BASE, VOID),
                   NAMED("body", DROPPED, 0)},
    ['c' - 'a'] = {NAMED("col", DROPPED, VOID), NAMED("colgroup", DROPPED, 0),
                   NAMED("caption", DROPPED, 0), NAMED("circle", PLAIN_ELEMENT, SHAPE),
                   NAMED("clippath", PLAIN_ELEMENT, SHAPE)},
    ['d' - 'a'] = {NAMED("defs", PLAIN_ELEMENT, SHAPE), NAMED("desc", PLAIN_ELEMENT, SHAPE)},
    ['e' - 'a'] = {NAMED("embed", RARE, VOID), NAMED("ellipse", PLAIN_ELEMENT, SHAPE)},
    ['f' - 'a'] = {NAMED("form", FORM, 0), NAMED("frame", FRAME, VOID), NAMED("frameset", ODD, 0),
                   NAMED("filter", RARE, SHAPE)},
    ['g' - 'a'] = {NAMED("g", PLAIN_ELEMENT, SHAPE)},
    ['h' - 'a'] = {NAMED("hr", PLAIN_ELEMENT, VOID), NAMED("html", DROPPED, 0),
                   NAMED("head", DROPPED, 0)},
    ['i' - 'a'] = {NAMED("img", IMG, VOID), NAMED("input", RARE, VOID), NAMED("iframe", IFRAME, 0),
                   NAMED("image", RARE, SHAPE)},
    ['l' - 'a'] = {NAMED("link", LINK, VOID), NAMED("line", PLAIN_ELEMENT, SHAPE),
                   NAMED("lineargradient", PLAIN_ELEMENT, SHAPE)},
    ['m' - 'a'] = {NAMED("meta", META, VOID), NAMED("math", ODD, 0), NAMED("mpath", RARE, SHAPE),
                   NAMED("mask", PLAIN_ELEMENT, SHAPE), NAMED("marker", PLAIN_ELEMENT, SHAPE),
                   NAMED("metadata", PLAIN_ELEMENT, SHAPE)},
    ['n' - 'a'] = {NAMED("noscript", DROPPED, 0), NAMED("noembed", RAW, 0),
                   NAMED("noframes", RAW, 0)},
    ['o' - 'a'] = {NAMED("object", RARE, 0)},
    ['p' - 'a'] = {NAMED("path", PLAIN_ELEMENT, SHAPE), NAMED("polygon", PLAIN_ELEMENT, SHAPE),
                   NAMED("polyline", PLAIN_ELEMENT, SHAPE), NAMED("pattern", RARE, SHAPE),
                   NAMED("plaintext", ODD, 0)},
    ['r' - 'a'] = {NAMED("rect", PLAIN_ELEMENT, SHAPE),
                   NAMED("radialgradient", PLAIN_ELEMENT, SHAPE)},
    ['s' - 'a'] = {NAMED("script", SCRIPT, 0), NAMED("select", DROPPED, 0),
                   NAMED("source", RARE, VOID), NAMED("svg", SVG, SHAPE),
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

static const Element *element_named(Text name)
{
    static const Element OTHERS = {NULL, 0, PLAIN_ELEMENT, 0};
    for (const Element *element = ELEMENTS[lower(*name.at) - 'a']; element->name; element++)
        if (element->size == name.size && spells(name.at, element->name, name.size))
            return element;
    return &OTHERS;
}

/* Whether it is one of the shapes, or one of the effects of filters, "fe...". */
static bool is_shape(Text name)
{
    return element_named(name)->traits & SHAPE || (name.size >= 6 && spells(name.at, "fe", 2));
}

/* The kinds of values: as they stand; with "&amp;" as the only reference; for the reader. */
typedef enum { PLAIN, AMPERSANDS, UNDECODED } Value;

/* Whether the reference at `at`, behind "&", is none, "amp;", or one of the others
** (section 13.2.5.72, as for attributes: nothing is a reference before "=", a letter or a digit). */
static Value reference_kind(const char *at, const char *end)
{
    const char *start = at;
    while (at < end && (is_letter(*at) || (*at >= '0' && *at <= '9')))
        at++;
    size_t size = (size_t)(at - start);
    if (size == 0)
        return at < end && *at == '#' ? UNDECODED : PLAIN;
    if (at < end && *at == '=')
        return PLAIN;
    if (at < end && *at == ';')
        return size == 3 && !memcmp(start, "amp", 3) ? AMPERSANDS : UNDECODED;
    /* The names that need no semicolon have two to six letters. */
    return size >= 2 && size <= 6 ? UNDECODED : PLAIN;
}

static Value value_kind(Text value)
{
    Value kind = PLAIN;
    const char *end = value.at + value.size;
    for (const char *at = value.at; at < end; at++) {
        if ((unsigned char)*at >= 0x80 || *at == '\r')
            return UNDECODED;
        if (*at == '&') {
            Value found = reference_kind(at + 1, end);
            if (found == UNDECODED)
                return UNDECODED;
            if (found == AMPERSANDS)
                kind = AMPERSANDS;
        }
    }
    return kind;
}

static bool is_undecoded(const Tag *tag, Attribute attribute)
{
    return has(tag, attribute) && value_kind(tag->value[attribute]) != PLAIN;
}

uint8_t merged(uint8_t flags, uint8_t other)
{
    if ((flags & KIND) != (other & KIND))
        return (flags & KIND) < (other & KIND) ? flags : other;
    return flags & other;
}

static Status add(Scan *scan, Text text, uint8_t flags)
{
    const char *fragment = memchr(text.at, '#', text.size);
    if (fragment)
        text.size = (size_t)(fragment - text.at);
    if (!text.size && (flags & KIND) != PAGE)
        return DONE;  /* "#part" is a part of this document, and "" no resource */
    uint64_t hash = siphash(scan->key, text.at, text.size);
    uint32_t number = number_of(&scan->distinct, hash);
    if (number == UINT32_MAX)
        return PyErr_NoMemory(), FAILED;
    if (number < scan->count) {
        Reference *known = &scan->references[number];
        known->flags = merged(known->flags, flags);
        return DONE;
    }
    if (scan->count == MOST_REFERENCES)
        return LEFT;
    if (scan->count == scan->room) {
        uint32_t room = scan->room ? 2 * scan->room : 128;
        Reference *grown = realloc(scan->references, room * sizeof *grown);
        if (!grown)
            return PyErr_NoMemory(), FAILED;
        scan->references = grown;
        scan->room = room;
    }
    scan->references[scan->count++] = (Reference){text, flags};
    return DONE;
}

/* Add `value` with "&" for each "&amp;". */
static Status add_decoded(Scan *scan, Text value, uint8_t flags)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)value.size);
    if (!bytes)
        return FAILED;
    char *text = PyBytes_AsString(bytes), *to = text;
    for (size_t k = 0; k < value.size; k++) {
        *to++ = value.at[k];
        if (value.size - k >= 5 && !memcmp(value.at + k, "&amp;", 5))
            k += 4;
    }
    int failed = PyList_Append(scan->kept, bytes);
    Py_DECREF(bytes);
    return failed ? FAILED : add(scan, (Text){text, (size_t)(to - text)}, flags);
}

/* Whether the reader may be asked a question that costs as much as the tree of 300 + `size` bytes.
** Pages on which questions might take more than a third of the time of a tree are LEFT. */
static bool may_ask(Scan *scan, size_t size)
{
    size_t cost = 300 + size;
    if (cost > scan->credit)
        return false;
    scan->credit -= cost;
    return true;
}

/* Let the reader read `text`, a tag or a style as it stands, and add the references that it finds. */
static Status ask(Scan *scan, Text text, size_t size)
{
    if (!may_ask(scan, size))
        return LEFT;
    PyObject *found = PyObject_CallMethod(
        scan->reader, "read", "y#O", text.at, (Py_ssize_t)text.size,
        scan->shapes ? Py_True : Py_False);
    if (!found || found == Py_None) {
        Py_XDECREF(found);
        return found ? LEFT : FAILED;
    }
    Py_ssize_t count = PyTuple_Size(found);
    Status status = count < 0 || PyList_Append(scan->kept, found) ? FAILED : DONE;
    for (Py_ssize_t k = 0; status == DONE && k < count; k++) {
        const char *at;
        Py_ssize_t size;
        int flags;
        if (PyArg_ParseTuple(PyTuple_GetItem(found, k), "s#i", &at, &size, &flags))
            status = add(scan, (Text){at, (size_t)size}, (uint8_t)flags);
        else
            status = FAILED;
    }
    Py_DECREF(found);
    return status;
}

/* Half of a long tag is text that the tree would read as slowly. */
static Status ask_tag(Scan *scan, const Tag *tag)
{
    return ask(scan, tag->text, tag->text.size / 2);
}

/* Both the tree and the reader pass over the text of a style fast. */
static Status ask_style(Scan *scan, Text style)
{
    return scan->depth > MOST_DEPTH ? LEFT : ask(scan, style, style.size / 8);
}

/* Find the kind and NOFOLLOW of a <link> with these values; the kind is KIND for none. */
static Status relation(Scan *scan, Text rel, Text as, int *flags)
{
    static Memo memo;
    uint64_t hash = siphash(scan->key, rel.at, rel.size);
    if (as.size)
        hash = 31 * hash + siphash(scan->key, as.at, as.size);
    int *known = recall(memo, hash);
    if (!known) {
        if (!may_ask(scan, rel.size + as.size))
            return LEFT;
        PyObject *found = PyObject_CallMethod(
            scan->reader, "relation", "s#s#", rel.at, (Py_ssize_t)rel.size, as.at,
            (Py_ssize_t)as.size);
        if (!found)
            return FAILED;
        long answer = PyLong_AsLong(found);
        Py_DECREF(found);
        if (answer < 0)
            return FAILED;
        known = keep(memo, hash, (int)answer);
    }
    *flags = *known;
    return DONE;
}

/* Add the value of `attribute`, if the tag has it, as a link with these flags. */
static Status add_value(Scan *scan, const Tag *tag, Attribute attribute, uint8_t flags)
{
    if (!has(tag, attribute))
        return DONE;
    Text value = tag->value[attribute];
    switch (value_kind(value)) {
    case PLAIN:
        return add(scan, value, flags);
    case AMPERSANDS:
        return add_decoded(scan, value, flags);
    default:
        return ask_tag(scan, tag);
    }
}

/* As `add_value`, for an element on which `rel` counts; with KIND the relation is the kind, too. */
static Status add_related(Scan *scan, const Tag *tag, Attribute attribute, uint8_t kind)
{
    if (!has(tag, attribute))
        return DONE;
    Text rel = has(tag, REL) ? tag->value[REL] : (Text){"", 0};
    Text as = has(tag, AS) && kind == KIND ? tag->value[AS] : (Text){"", 0};
    if (!rel.size && kind != KIND)
        return add_value(scan, tag, attribute, kind);
    if (is_undecoded(tag, REL) || is_undecoded(tag, AS) || rel.size + as.size > LONGEST_RELATION)
        return ask_tag(scan, tag);
    int flags;
    Status status = relation(scan, rel, as, &flags);
    if (status != DONE)
        return status;
    if (kind != KIND)
        flags = kind | (flags & NOFOLLOW);
    return (flags & KIND) == KIND ? DONE : add_value(scan, tag, attribute, (uint8_t)flags);
}

/* Whether a style sheet has an @import, the name of a function that takes a URL before a
** parenthesis, or an escape, which might spell either. larbinpy.parse.css finds the URLs. */
static bool may_have_urls(Text css)
{
    if (memchr(css.at, '\\', css.size))
        return true;
    const char *end = css.at + css.size;
    for (const char *at = css.at; (at = memchr(at, '@', (size_t)(end - at))); at++)
        if (at + 1 < end && (at[1] == 'i' || at[1] == 'I'))
            return true;
    for (const char *at = css.at; (at = memchr(at, '(', (size_t)(end - at))); at++)
        if (at - css.at >= 3 && (is_word((Text){at - 3, 3}, "url") ||
                                 is_word((Text){at - 3, 3}, "src") ||
                                 is_word((Text){at - 3, 3}, "age") ||   /* image */
                                 is_word((Text){at - 3, 3}, "set")))    /* image-set */
            return true;
    return false;
}

/* Whether the tag has links in attributes that any element may have. */
static bool has_common(const Tag *tag)
{
    if (has(tag, BACKGROUND) || has(tag, XLINK_HREF))
        return true;
    return has(tag, STYLE) && (may_have_urls(tag->value[STYLE]) ||
                               memchr(tag->value[STYLE].at, '&', tag->value[STYLE].size));
}

static Status read_form(Scan *scan, const Tag *tag)
{
    if (scan->in_form)
        return DONE;
    scan->in_form = true;
    if (has_common(tag) || is_undecoded(tag, METHOD))
        return ask_tag(scan, tag);
    if (has(tag, METHOD) &&
        (is_word(tag->value[METHOD], "post") || is_word(tag->value[METHOD], "dialog")))
        return DONE;
    return add_related(scan, tag, ACTION, PAGE);
}

/* Whether `name` is that of a directive for this crawler; true in case of doubt. */
static bool is_directed(const Scan *scan, Text name)
{
    for (size_t k = 0; k < name.size; k++)
        if ((unsigned char)name.at[k] <= ' ' || (unsigned char)name.at[k] >= 0x7f)
            return true;
    return memchr(name.at, '&', name.size) || is_word(name, "robots") ||
           is_word(name, scan->agent);
}

static Status read_meta(Scan *scan, const Tag *tag)
{
    if (!scan->declared && (has(tag, CHARSET) || has(tag, HTTP_EQUIV))) {
        if (!may_ask(scan, tag->text.size))
            return LEFT;
        PyObject *known = PyObject_CallMethod(
            scan->reader, "declare", "y#", tag->text.at, (Py_ssize_t)tag->text.size);
        if (!known)
            return FAILED;
        int declared = PyObject_IsTrue(known);
        Py_DECREF(known);
        if (declared < 0)
            return FAILED;
        scan->declared = declared;
    }
    bool refresh = has(tag, HTTP_EQUIV) &&
                   (is_word(tag->value[HTTP_EQUIV], "refresh") || is_undecoded(tag, HTTP_EQUIV));
    bool directed = has(tag, NAME) && is_directed(scan, tag->value[NAME]);
    bool read = has(tag, CONTENT) && (refresh || directed);
    return read || has_common(tag) ? ask_tag(scan, tag) : DONE;
}

static Status read_base(Scan *scan, const Tag *tag)
{
    if (has_common(tag))
        return LEFT;
    if (!has(tag, HREF))
        return DONE;
    if (scan->has_base || !may_ask(scan, tag->text.size))
        return LEFT;  /* Of two, the tree might move one before the other. */
    scan->has_base = true;
    PyObject *done = PyObject_CallMethod(
        scan->reader, "rebase_by", "y#", tag->text.at, (Py_ssize_t)tag->text.size);
    if (!done)
        return FAILED;
    Status status = done == Py_None ? LEFT : DONE;
    Py_DECREF(done);
    return status;
}

static Status open_shape(Scan *scan, const Tag *tag)
{
    if (tag->self_closing)
        return DONE;
    if (scan->shapes == MOST_SHAPES)
        return LEFT;
    scan->depth++;
    scan->shape[scan->shapes++] = tag->name;
    return DONE;
}

/* Add the links of a start tag within SVG. */
static Status read_shape(Scan *scan, const Tag *tag)
{
    bool is_anchor = is_word(tag->name, "a");
    bool is_image = is_word(tag->name, "image") || is_word(tag->name, "feimage");
    /* The frequent case: an icon of a sprite, or of this document, which is no link. */
    if (has(tag, XLINK_HREF) && !is_anchor && !has(tag, HREF) && !has(tag, STYLE) &&
        !has(tag, BACKGROUND))
        return add_value(scan, tag, XLINK_HREF, is_image ? IMAGE : REQUISITE);
    bool is_local = has(tag, HREF) && tag->value[HREF].size && *tag->value[HREF].at == '#';
    bool is_link = has(tag, HREF) && (is_anchor || !is_local);
    return is_link || has_common(tag) ? ask_tag(scan, tag) : DONE;
}

static Status start_shape(Scan *scan, const Tag *tag)
{
    if (!is_shape(tag->name))
        return LEFT;
    Status status = read_shape(scan, tag);
    return status == DONE ? open_shape(scan, tag) : status;
}

/* A tag within SVG. Within <title> and <desc> HTML's rules hold, and <style> is no raw text, so they
** may hold text alone. */
static Status svg_tag(Scan *scan, const Page *page, const Tag *tag)
{
    Text last = scan->shape[scan->shapes - 1], name = tag->name;
    bool is_style = is_word(last, "style");
    if (page->has_cdata)
        return LEFT;
    if (!tag->is_end)
        return is_style || is_word(last, "title") || is_word(last, "desc") ? LEFT
                                                                           : start_shape(scan, tag);
    if (!same_word(name, last))
        return LEFT;
    scan->shapes--;
    scan->depth--;
    if (!is_style)
        return DONE;
    Text whole = {last.at - 1, (size_t)(page->at - last.at) + 1};
    if (memchr(last.at, '<', (size_t)(tag->text.at - last.at)))
        return LEFT;  /* A comment, which is not a part of the style. */
    if (!memchr(whole.at, '&', whole.size) && !may_have_urls(whole))
        return DONE;
    return ask_style(scan, whole);
}

/* Pass over the text of an element that holds raw text. */
static Status pass_raw_text(Scan *scan, Page *page, const Tag *tag, const Element *element)
{
    Text text = raw_text(page, element->name);
    Role role = element->role;
    /* After both, the standard takes "</script" for a part of the script. */
    if (role == SCRIPT && has_word(text, "<!--") && has_word(text, "<script"))
        return LEFT;
    if (role == STYLES && (has_common(tag) || may_have_urls(text)))
        return ask_style(scan, (Text){tag->text.at, (size_t)(page->at - tag->text.at)});
    return DONE;
}

/* The links of an element in its own attributes. */
static Status read_own(Scan *scan, const Tag *tag, Role role)
{
    switch (role) {
    case ANCHOR:
        return add_related(scan, tag, HREF, PAGE);
    case LINK:
        return has(tag, OTHER) ? ask_tag(scan, tag) : add_related(scan, tag, HREF, KIND);
    case IMG:
        return has(tag, OTHER) ? ask_tag(scan, tag) : add_value(scan, tag, SRC, IMAGE);
    case SCRIPT:
        return has(tag, HREF) ? ask_tag(scan, tag) : add_value(scan, tag, SRC, REQUISITE);
    case IFRAME:
        return add_value(scan, tag, SRC, PAGE);
    case META:
        return read_meta(scan, tag);
    case BASE:
        return read_base(scan, tag);
    case RARE:
        return has(tag, HREF) || has(tag, SRC) || has(tag, OTHER) ? ask_tag(scan, tag) : DONE;
    default:
        return DONE;
    }
}

static Status start_tag(Scan *scan, Page *page, const Tag *tag)
{
    const Element *element = element_named(tag->name);
    Role role = element->role;
    if (scan->templates && (role == DROPPED || role == FORM))
        return LEFT;
    if (role != SVG && !(element->traits & VOID))
        scan->depth++;
    switch (role) {
    case ODD:
        return LEFT;
    case FRAME:
        return DONE;
    case DROPPED:
        return has_common(tag) ? LEFT : DONE;
    case FORM:
        return read_form(scan, tag);
    case STYLES:
        return pass_raw_text(scan, page, tag, element);
    default:
        break;
    }
    bool whole = has_common(tag) && role != META && role != BASE;
    Status status = whole ? ask_tag(scan, tag) : read_own(scan, tag, role);
    if (status != DONE)
        return status;
    switch (role) {
    case TEMPLATE:
        scan->templates++;
        return DONE;
    case SVG:
        return scan->depth > MOST_DEPTH ? LEFT : open_shape(scan, tag);
    case RAW: case SCRIPT: case IFRAME:
        return pass_raw_text(scan, page, tag, element);
    default:
        return DONE;
    }
}

static Status end_tag(Scan *scan, const Tag *tag)
{
    scan->depth--;
    bool is_form = is_word(tag->name, "form");
    if (is_form && scan->templates)
        return LEFT;
    if (is_form)
        scan->in_form = false;
    else if (scan->templates && is_word(tag->name, "template"))
        scan->templates--;
    return DONE;
}

Status read_links(Scan *scan, Page page)
{
    Tag tag;
    Status status = DONE;
    scan->credit = (size_t)(page.end - page.at) / 3 + LEAST_CREDIT;
    while (status == DONE && next_tag(&page, &tag)) {
        if (scan->shapes)
            status = svg_tag(scan, &page, &tag);
        else if (tag.is_end)
            status = end_tag(scan, &tag);
        else
            status = start_tag(scan, &page, &tag);
    }
    if (status == DONE && scan->shapes && is_word(scan->shape[scan->shapes - 1], "style"))
        return LEFT;  /* The page ends within a style. */
    return status;
}
