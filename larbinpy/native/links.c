/* Finds the references of an HTML page in its tags, without a tree.
**
** The tree of the HTML standard is the definition of the result: larbinpy/parse/html.py reads it. The
** promise: a page that is not LEFT to the tree has the same references, kinds, nofollow and robots
** directives here and there. Their order is that of the text, which is that of the tree except where
** the tree moves elements out of a table.
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

/* The credit of an empty page: see `may_ask`. */
#define LEAST_CREDIT 4096

/* The tree drops the text of elements that are nested deeper than 508. This is an upper bound of the
** depth: elements without an end tag count to the end of the page. */
#define MOST_DEPTH 500

/* The longest `rel` that is looked at here; the reader cuts longer ones. */
#define LONGEST_RELATION 256

typedef enum {
    OTHER_ELEMENT,            /* no links but those that any element may have */
    ANCHOR, LINK, IMG, SCRIPT, IFRAME, FORM, META, BASE,
    RARE,                     /* has links that the reader knows */
    RAW,                      /* raw text without links of its own */
    STYLES,
    PART,                     /* dropped or merged in some places */
    FRAME,                    /* dropped where there is no frameset */
    TEMPLATE, SVG,
    ODD,
} Role;

typedef struct {
    const char *name;
    Role role;
} Element;

/* By the length of the name. */
static const Element ELEMENTS[][14] = {
    [1] = {{"a", ANCHOR}},
    [2] = {{"td", PART}, {"tr", PART}, {"th", PART}},
    [3] = {{"img", IMG}, {"svg", SVG}, {"col", PART}, {"xmp", RAW}, {"use", RARE}},
    [4] = {{"link", LINK}, {"meta", META}, {"form", FORM}, {"area", ANCHOR}, {"base", BASE},
           {"html", PART}, {"head", PART}, {"body", PART}, {"math", ODD}},
    [5] = {{"title", RAW}, {"style", STYLES}, {"input", RARE}, {"tbody", PART}, {"thead", PART},
           {"tfoot", PART}, {"video", RARE}, {"audio", RARE}, {"track", RARE}, {"embed", RARE},
           {"image", RARE}, {"mpath", RARE}, {"frame", FRAME}},
    [6] = {{"script", SCRIPT}, {"source", RARE}, {"iframe", IFRAME}, {"object", RARE},
           {"filter", RARE}, {"select", PART}},
    [7] = {{"pattern", RARE}, {"caption", PART}, {"noembed", RAW}},
    [8] = {{"colgroup", PART}, {"template", TEMPLATE}, {"textarea", RAW}, {"noscript", PART},
           {"noframes", RAW}, {"frameset", ODD}},
    [9] = {{"plaintext", ODD}, {NULL, OTHER_ELEMENT}},
};

/* The elements of SVG that need no other rule than good nesting, besides "fe..." for effects. */
static const char *const SHAPES[][10] = {
    [1] = {"g", "a"},
    [3] = {"use", "svg", "set"},
    [4] = {"path", "rect", "line", "defs", "stop", "text", "desc", "mask"},
    [5] = {"title", "style", "tspan", "image"},
    [6] = {"circle", "symbol", "filter", "marker"},
    [7] = {"polygon", "ellipse", "pattern", "animate"},
    [8] = {"polyline", "clippath", "textpath", "metadata"},
    [13] = {"animatemotion"},
    [14] = {"lineargradient", "radialgradient"},
    [16] = {"animatetransform", NULL},
};

#define LENGTHS(table) (sizeof (table) / sizeof *(table))

static const Element *element_named(Text name)
{
    static const Element OTHERS = {NULL, OTHER_ELEMENT};
    if (name.size < LENGTHS(ELEMENTS))
        for (const Element *element = ELEMENTS[name.size]; element->name; element++)
            if (spells(name.at, element->name, name.size))
                return element;
    return &OTHERS;
}

static bool is_shape(Text name)
{
    if (name.size < LENGTHS(SHAPES))
        for (const char *const *shape = SHAPES[name.size]; *shape; shape++)
            if (spells(name.at, *shape, name.size))
                return true;
    return name.size >= 6 && spells(name.at, "fe", 2);
}

/* The kinds of values: as they stand; with "&amp;" as the only reference; for the reader. */
typedef enum { PLAIN, AMPERSANDS, STRANGE } Value;

/* Whether the reference at `at`, behind "&", is none, "amp;", or one of the others
** (section 13.2.5.72, as for attributes: nothing is a reference before "=", a letter or a digit). */
static Value reference_kind(const char *at, const char *end)
{
    const char *start = at;
    while (at < end && (is_letter(*at) || (*at >= '0' && *at <= '9')))
        at++;
    size_t size = (size_t)(at - start);
    if (size == 0)
        return at < end && *at == '#' ? STRANGE : PLAIN;
    if (at < end && *at == '=')
        return PLAIN;
    if (at < end && *at == ';')
        return size == 3 && !memcmp(start, "amp", 3) ? AMPERSANDS : STRANGE;
    /* The names that need no semicolon have two to six letters. */
    return size >= 2 && size <= 6 ? STRANGE : PLAIN;
}

static Value value_kind(Text value)
{
    Value kind = PLAIN;
    const char *end = value.at + value.size;
    for (const char *at = value.at; at < end; at++) {
        if ((unsigned char)*at >= 0x80 || *at == '\r')
            return STRANGE;
        if (*at == '&') {
            Value found = reference_kind(at + 1, end);
            if (found == STRANGE)
                return STRANGE;
            if (found == AMPERSANDS)
                kind = AMPERSANDS;
        }
    }
    return kind;
}

static bool is_strange(const Tag *tag, Attribute attribute)
{
    return has(tag, attribute) && value_kind(tag->value[attribute]) != PLAIN;
}

uint8_t merged(uint8_t flags, uint8_t other)
{
    if ((flags & KIND) != (other & KIND))
        return (flags & KIND) < (other & KIND) ? flags : other;
    return flags & other;
}

static Status add(Links *links, Text text, uint8_t flags)
{
    const char *fragment = memchr(text.at, '#', text.size);
    if (fragment)
        text.size = (size_t)(fragment - text.at);
    if (!text.size && (flags & KIND) != PAGE)
        return DONE;  /* "#part" is a part of this document, and "" no resource */
    uint64_t hash = siphash(links->key, text.at, text.size);
    uint32_t number = number_of(&links->distinct, hash);
    if (number == UINT32_MAX)
        return PyErr_NoMemory(), FAILED;
    if (number < links->count) {
        Reference *known = &links->references[number];
        known->flags = merged(known->flags, flags);
        return DONE;
    }
    if (links->count == MOST_REFERENCES)
        return LEFT;
    if (links->count == links->room) {
        uint32_t room = links->room ? 2 * links->room : 128;
        Reference *grown = realloc(links->references, room * sizeof *grown);
        if (!grown)
            return PyErr_NoMemory(), FAILED;
        links->references = grown;
        links->room = room;
    }
    links->references[links->count++] = (Reference){text, flags};
    return DONE;
}

/* Add `value` with "&" for each "&amp;". */
static Status add_decoded(Links *links, Text value, uint8_t flags)
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
    int failed = PyList_Append(links->kept, bytes);
    Py_DECREF(bytes);
    return failed ? FAILED : add(links, (Text){text, (size_t)(to - text)}, flags);
}

/* Whether the reader may be asked about `size` bytes more.
**
** A question costs about as much as the tree of 300 bytes, and more if it is long. Pages on which
** questions might take more than a third of the time of a tree are LEFT. */
static bool may_ask(Links *links, size_t size)
{
    size_t cost = size + 300;
    if (cost > links->credit)
        return false;
    links->credit -= cost;
    return true;
}

/* Let the reader read `text`, a tag as it stands, and add the references that it finds. */
static Status ask(Links *links, Text text)
{
    if (!may_ask(links, text.size))
        return LEFT;
    PyObject *found = PyObject_CallMethod(
        links->reader, "read", "y#O", text.at, (Py_ssize_t)text.size,
        links->shapes ? Py_True : Py_False);
    if (!found || found == Py_None) {
        Py_XDECREF(found);
        return found ? LEFT : FAILED;
    }
    Status status = PyList_Append(links->kept, found) ? FAILED : DONE;
    for (Py_ssize_t k = 0; status == DONE && k < PyList_Size(found); k++) {
        const char *at;
        Py_ssize_t size;
        int flags;
        if (PyArg_ParseTuple(PyList_GetItem(found, k), "s#i", &at, &size, &flags))
            status = add(links, (Text){at, (size_t)size}, (uint8_t)flags);
        else
            status = FAILED;
    }
    Py_DECREF(found);
    return status;
}

/* Find the kind and NOFOLLOW of a <link> with these values; the kind is KIND for none. */
static Status relation(Links *links, Text rel, Text as, int *flags)
{
    static Memo memo;
    uint64_t hash = siphash(links->key, rel.at, rel.size);
    if (as.size)
        hash = 31 * hash + siphash(links->key, as.at, as.size);
    int *known = recall(memo, hash);
    if (!known) {
        if (!may_ask(links, rel.size + as.size))
            return LEFT;
        PyObject *found = PyObject_CallMethod(
            links->reader, "relation", "s#s#", rel.at, (Py_ssize_t)rel.size, as.at,
            (Py_ssize_t)as.size);
        if (!found)
            return FAILED;
        known = keep(memo, hash, (int)PyLong_AsLong(found));
        Py_DECREF(found);
    }
    *flags = *known;
    return DONE;
}

/* Add the value of `attribute`, if the tag has it, as a link with these flags. */
static Status add_value(Links *links, const Tag *tag, Attribute attribute, uint8_t flags)
{
    if (!has(tag, attribute))
        return DONE;
    Text value = tag->value[attribute];
    switch (value_kind(value)) {
    case PLAIN:
        return add(links, value, flags);
    case AMPERSANDS:
        return add_decoded(links, value, flags);
    default:
        return ask(links, tag->text);
    }
}

/* As `add_value`, for an element on which `rel` counts; with KIND the relation is the kind, too. */
static Status add_related(Links *links, const Tag *tag, Attribute attribute, uint8_t kind)
{
    if (!has(tag, attribute))
        return DONE;
    Text rel = has(tag, REL) ? tag->value[REL] : (Text){"", 0};
    Text as = has(tag, AS) && kind == KIND ? tag->value[AS] : (Text){"", 0};
    if (!rel.size && kind != KIND)
        return add_value(links, tag, attribute, kind);
    if (is_strange(tag, REL) || is_strange(tag, AS) || rel.size + as.size > LONGEST_RELATION)
        return ask(links, tag->text);
    int flags;
    Status status = relation(links, rel, as, &flags);
    if (status != DONE)
        return status;
    if (kind != KIND)
        flags = kind | (flags & NOFOLLOW);
    return (flags & KIND) == KIND ? DONE : add_value(links, tag, attribute, (uint8_t)flags);
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
static bool has_common(const Tag *tag, bool in_svg)
{
    if (has(tag, BACKGROUND))
        return true;
    if (has(tag, XLINK_HREF)) {
        Text value = tag->value[XLINK_HREF];
        if (!in_svg || !value.size || *value.at != '#')
            return true;
    }
    return has(tag, STYLE) && (may_have_urls(tag->value[STYLE]) ||
                               memchr(tag->value[STYLE].at, '&', tag->value[STYLE].size));
}

static Status form(Links *links, const Tag *tag)
{
    if (links->in_form)
        return DONE;
    links->in_form = true;
    if (has_common(tag, false) || is_strange(tag, METHOD))
        return ask(links, tag->text);
    if (has(tag, METHOD) &&
        (is_word(tag->value[METHOD], "post") || is_word(tag->value[METHOD], "dialog")))
        return DONE;
    return add_related(links, tag, ACTION, PAGE);
}

/* Whether `name` is that of a directive for this crawler; true in case of doubt. */
static bool is_directed(const Links *links, Text name)
{
    for (size_t k = 0; k < name.size; k++)
        if ((unsigned char)name.at[k] <= ' ' || (unsigned char)name.at[k] >= 0x7f)
            return true;
    return memchr(name.at, '&', name.size) || is_word(name, "robots") ||
           is_word(name, links->agent);
}

static Status meta(Links *links, const Tag *tag)
{
    if (!links->declared && (has(tag, CHARSET) || has(tag, HTTP_EQUIV))) {
        if (!may_ask(links, tag->text.size))
            return LEFT;
        PyObject *known = PyObject_CallMethod(
            links->reader, "declare", "y#", tag->text.at, (Py_ssize_t)tag->text.size);
        if (!known)
            return FAILED;
        links->declared = PyObject_IsTrue(known);
        Py_DECREF(known);
    }
    bool refresh = has(tag, HTTP_EQUIV) &&
                   (is_word(tag->value[HTTP_EQUIV], "refresh") || is_strange(tag, HTTP_EQUIV));
    bool directed = has(tag, NAME) && is_directed(links, tag->value[NAME]);
    bool read = has(tag, CONTENT) && (refresh || directed);
    return read || has_common(tag, false) ? ask(links, tag->text) : DONE;
}

static Status base(Links *links, const Tag *tag)
{
    if (has_common(tag, false))
        return LEFT;
    if (!has(tag, HREF))
        return DONE;
    if (links->has_base)
        return LEFT;  /* The tree might move one before the other. */
    links->has_base = true;
    PyObject *done = PyObject_CallMethod(
        links->reader, "rebase_by", "y#", tag->text.at, (Py_ssize_t)tag->text.size);
    if (!done)
        return FAILED;
    Status status = done == Py_None ? LEFT : DONE;
    Py_DECREF(done);
    return status;
}

static Status open_shape(Links *links, const Tag *tag)
{
    if (tag->self_closing)
        return DONE;
    if (links->shapes == MOST_SHAPES)
        return LEFT;
    links->shape[links->shapes++] = tag->name;
    return DONE;
}

/* A start tag within SVG. A reference to a part of this document is none, except in <a>. */
static Status shape(Links *links, const Tag *tag)
{
    if (!is_shape(tag->name))
        return LEFT;
    bool anchor = is_word(tag->name, "a");
    bool local = has(tag, HREF) && tag->value[HREF].size && *tag->value[HREF].at == '#';
    bool linked = has(tag, HREF) && (anchor || !local);
    Status status = linked || has_common(tag, !anchor) ? ask(links, tag->text) : DONE;
    return status == DONE ? open_shape(links, tag) : status;
}

/* A tag within SVG. Within <title> and <desc> HTML's rules hold, and <style> is no raw text, so they
** may hold text alone. */
static Status svg_tag(Links *links, const Page *page, const Tag *tag)
{
    Text last = links->shape[links->shapes - 1], name = tag->name;
    bool is_style = is_word(last, "style");
    if (page->has_cdata)
        return LEFT;
    if (!tag->is_end)
        return is_style || is_word(last, "title") || is_word(last, "desc") ? LEFT
                                                                           : shape(links, tag);
    if (!same_word(name, last))
        return LEFT;
    links->shapes--;
    if (!is_style)
        return DONE;
    Text whole = {last.at - 1, (size_t)(page->at - last.at) + 1};
    if (!memchr(whole.at, '&', whole.size) && !may_have_urls(whole))
        return DONE;
    return links->depth > MOST_DEPTH ? LEFT : ask(links, whole);
}

/* Pass over the text of an element that holds raw text. */
static Status raw(Links *links, Page *page, const Tag *tag, const Element *element)
{
    Text text = raw_text(page, element->name);
    Role role = element->role;
    /* After both, the standard takes "</script" for a part of the script. */
    if (role == SCRIPT && has_word(text, "<!--") && has_word(text, "<script"))
        return LEFT;
    if (role == STYLES && (has_common(tag, false) || may_have_urls(text)))
        return links->depth > MOST_DEPTH ? LEFT : ask(links, (Text){tag->text.at, (size_t)(page->at - tag->text.at)});
    return DONE;
}

/* The links of an element in its own attributes. */
static Status own(Links *links, const Tag *tag, Role role)
{
    switch (role) {
    case ANCHOR:
        return add_related(links, tag, HREF, PAGE);
    case LINK:
        return has(tag, OTHER) ? ask(links, tag->text) : add_related(links, tag, HREF, KIND);
    case IMG:
        return has(tag, OTHER) ? ask(links, tag->text) : add_value(links, tag, SRC, IMAGE);
    case SCRIPT:
        return has(tag, HREF) ? ask(links, tag->text) : add_value(links, tag, SRC, REQUISITE);
    case IFRAME:
        return add_value(links, tag, SRC, PAGE);
    case META:
        return meta(links, tag);
    case BASE:
        return base(links, tag);
    case RARE:
        return has(tag, HREF) || has(tag, SRC) || has(tag, OTHER) ? ask(links, tag->text) : DONE;
    default:
        return DONE;
    }
}

static Status start_tag(Links *links, Page *page, const Tag *tag)
{
    const Element *element = element_named(tag->name);
    Role role = element->role;
    if (links->templates && (role == PART || role == FORM))
        return LEFT;
    switch (role) {
    case ODD:
        return LEFT;
    case FRAME:
        return DONE;
    case PART:
        return has_common(tag, false) ? LEFT : DONE;
    case FORM:
        return form(links, tag);
    case STYLES:
        return raw(links, page, tag, element);
    default:
        break;
    }
    bool whole = has_common(tag, false) && role != META && role != BASE;
    Status status = whole ? ask(links, tag->text) : own(links, tag, role);
    if (status != DONE)
        return status;
    switch (role) {
    case TEMPLATE:
        links->templates++;
        return DONE;
    case SVG:
        return open_shape(links, tag);
    case RAW: case SCRIPT: case IFRAME:
        return raw(links, page, tag, element);
    default:
        return DONE;
    }
}

static Status end_tag(Links *links, const Tag *tag)
{
    bool is_form = is_word(tag->name, "form");
    if (is_form && links->templates)
        return LEFT;
    if (is_form)
        links->in_form = false;
    else if (links->templates && is_word(tag->name, "template"))
        links->templates--;
    return DONE;
}

Status read_links(Links *links, Page page)
{
    Tag tag;
    Status status = DONE;
    links->credit = (size_t)(page.end - page.at) / 3 + LEAST_CREDIT;
    while (status == DONE && next_tag(&page, &tag)) {
        if (!tag.self_closing)
            links->depth += tag.is_end ? -1 : 1;
        if (links->shapes)
            status = svg_tag(links, &page, &tag);
        else if (tag.is_end)
            status = end_tag(links, &tag);
        else
            status = start_tag(links, &page, &tag);
    }
    if (links->shapes && is_word(links->shape[links->shapes - 1], "style"))
        return LEFT;  /* The page ends within a style. */
    return status;
}
