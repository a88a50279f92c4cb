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
** All that is rare but local is read by the tree as well: a style with url(), a srcset with more than
** one descriptor a candidate, an <iframe> with a document, a <noframes>, JSON-LD, a reference such as
** "&eacute;" or a letter outside of ASCII is passed to the reader as it stands. A document with a base
** of its own is LEFT. So is a page with forms of two methods and a button with a target of its own,
** which depends on the form of the button.
*/

#include "links.h"

#include <string.h>

#include "elements.h"
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

static bool is_page(uint8_t flags)
{
    return (flags & KIND) == PAGE || (flags & KIND) == SHOWN;
}

uint8_t merged(uint8_t flags, uint8_t other)
{
    if ((flags & KIND) == (other & KIND))
        return flags & other;
    if (is_page(flags) || is_page(other)) {
        uint8_t pages = !is_page(other) ? flags : !is_page(flags) ? other : flags & other;
        return SHOWN | (pages & NOFOLLOW);
    }
    return (flags & KIND) < (other & KIND) ? flags : other;
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

/* Let the reader read `text`, a tag or raw text as it stands within the tag `context`, and add the
** references that it finds. */
static Status ask_within(Scan *scan, const char *context, Text text, size_t size)
{
    if (!may_ask(scan, size))
        return LEFT;
    PyObject *found = PyObject_CallMethod(
        scan->reader, "read", "yy#", context, text.at, (Py_ssize_t)text.size);
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

static Status ask(Scan *scan, Text text, size_t size)
{
    return ask_within(scan, scan->shapes ? "<svg>" : "", text, size);
}

/* Half of a long tag is text that the tree would read as slowly. */
static Status ask_tag(Scan *scan, const Tag *tag)
{
    return ask(scan, tag->text, tag->text.size / 2);
}

/* Both the tree and the reader pass over raw text fast. */
static Status ask_raw_text(Scan *scan, Text text)
{
    return scan->depth > MOST_DEPTH ? LEFT : ask(scan, text, text.size / 8);
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

/* Add a value, or a part of one, of this kind. */
static Status add_text(Scan *scan, Text text, Value kind, uint8_t flags)
{
    return kind == PLAIN ? add(scan, text, flags) : add_decoded(scan, text, flags);
}

/* Add the value of `attribute`, if the tag has it, as a link with these flags. */
static Status add_value(Scan *scan, const Tag *tag, Attribute attribute, uint8_t flags)
{
    if (!has(tag, attribute))
        return DONE;
    Text value = tag->value[attribute];
    Value kind = value_kind(value);
    return kind == UNDECODED ? ask_tag(scan, tag) : add_text(scan, value, kind, flags);
}

/* Whether larbinpy.parse.lazy takes the value for an address. */
static bool is_address(Text value)
{
    const char *end = value.at + value.size;
    bool is_path = false;
    for (const char *at = value.at; at < end; at++) {
        if (*at == '{' || *at == '<' || *at == '"')
            return false;
        is_path = is_path || *at == '/' || (*at == '.' && at + 1 < end && is_letter(at[1]));
    }
    return is_path;
}

static Status add_address(Scan *scan, const Tag *tag, Attribute attribute, uint8_t flags)
{
    if (!has(tag, attribute))
        return DONE;
    if (value_kind(tag->value[attribute]) != UNDECODED && !is_address(tag->value[attribute]))
        return DONE;
    return add_value(scan, tag, attribute, flags);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether `at` is a number and the unit "w", or a number, perhaps with a fraction, and "x". */
static bool is_descriptor(const char *at, const char *end)
{
    bool positive = false;
    const char *start = at;
    for (; at < end && is_digit(*at); at++)
        positive = positive || *at != '0';
    if (at == start)
        return false;
    if (end - at == 1 && (*at == 'w' || *at == 'x'))
        return *at == 'x' || positive;
    if (end - at < 3 || *at != '.' || end[-1] != 'x')
        return false;
    for (at++; at < end - 1; at++)
        if (!is_digit(*at))
            return false;
    return true;
}

/* Add the candidates of a srcset (larbinpy.parse.srcset), each of which has one descriptor or none;
** ask the reader if there are others. */
static Status add_candidates(Scan *scan, const Tag *tag, Attribute attribute)
{
    if (!has(tag, attribute))
        return DONE;
    Text value = tag->value[attribute];
    Value kind = value_kind(value);
    if (kind == UNDECODED || memchr(value.at, '(', value.size))
        return ask_tag(scan, tag);
    const char *at = value.at, *end = at + value.size;
    Status status = DONE;
    while (status == DONE) {
        while (at < end && (is_space(*at) || *at == ','))
            at++;
        if (at == end)
            break;
        Text url = {at, 0};
        while (at < end && !is_space(*at))
            at++;
        url.size = (size_t)(at - url.at);
        if (at[-1] == ',') {
            while (url.at[url.size - 1] == ',')
                url.size--;
        } else {
            const char *comma = memchr(at, ',', (size_t)(end - at));
            const char *last = comma ? comma : end;
            while (at < last && is_space(*at))
                at++;
            const char *descriptor = at;
            for (at = last; at > descriptor && is_space(at[-1]); at--)
                ;
            if (at > descriptor && !is_descriptor(descriptor, at))
                return ask_tag(scan, tag);
            at = last;
        }
        status = add_text(scan, url, kind, IMAGE);
    }
    return status;
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
    if (has(tag, BACKGROUND) || has(tag, XLINK_HREF) || has(tag, PAINT))
        return true;
    return has(tag, STYLE) && (may_have_urls(tag->value[STYLE]) ||
                               memchr(tag->value[STYLE].at, '&', tag->value[STYLE].size));
}

/* Whether the tag may have links for lazy loaders. The reader takes some from some elements alone. */
static bool has_lazy(const Tag *tag)
{
    if (has(tag, LAZY_OTHER))
        return true;
    return has(tag, LAZY) && (is_address(tag->value[LAZY]) ||
                              memchr(tag->value[LAZY].at, '&', tag->value[LAZY].size));
}

static Status read_form(Scan *scan, const Tag *tag)
{
    if (scan->in_form)
        return DONE;
    scan->in_form = true;
    bool unclear = is_undecoded(tag, METHOD);
    bool posts = has(tag, METHOD) && (is_word(tag->value[METHOD], "post") ||
                                      is_word(tag->value[METHOD], "dialog"));
    scan->gets = scan->gets || unclear || !posts;
    scan->posts = scan->posts || unclear || posts;
    if (has_common(tag) || has_lazy(tag) || unclear)
        return ask_tag(scan, tag);
    return posts ? DONE : add_related(scan, tag, ACTION, PAGE);
}

/* The links of a button with a target of its own. It counts if its form uses GET, and the form is
** not looked for: if the page has forms of both kinds, it is LEFT in the end. */
static Status read_button(Scan *scan, const Tag *tag)
{
    if (has(tag, FORMMETHOD) || !scan->gets) {
        scan->unowned = scan->unowned || !has(tag, FORMMETHOD);
        return ask_tag(scan, tag);
    }
    scan->owned = true;
    return ask_within(scan, "<form>", tag->text, tag->text.size / 2);
}

/* Whether a <param> of this name is an address; true in case of doubt. */
static bool is_parameter(Text name)
{
    static const char *const NAMES[] = {"movie", "src", "url", "href", "ref", "filename"};
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++)
        if (is_word(name, NAMES[k]))
            return true;
    return memchr(name.at, '&', name.size);
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

/* Whether larbinpy.parse.metadata takes the content of a <meta> of this name for an image. */
static bool is_image_name(Text name)
{
    static const char *const NAMES[] = {
        "og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src",
        "image", "thumbnail", "thumbnailurl", "msapplication-tileimage",
        "msapplication-square70x70logo", "msapplication-square150x150logo",
        "msapplication-square310x310logo", "msapplication-wide310x150logo"};
    if (name.size < 5 || !strchr("oOtTiImM", *name.at))
        return false;
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++)
        if (is_word(name, NAMES[k]))
            return true;
    return false;
}

/* Whether a reference certainly leads to the site of the page, certainly elsewhere, or neither. */
typedef enum { OWN, FOREIGN, UNCLEAR } Site;

static Site site_of(const Scan *scan, Text reference)
{
    const char *at = reference.at, *end = at + reference.size;
    if (reference.size > 1 && *at == '/' && at[1] != '/' && at[1] != '\\')
        return OWN;
    if (reference.size < 8 || memcmp(at, "http", 4))
        return UNCLEAR;
    at += at[4] == 's' ? 5 : 4;
    if (end - at < 3 || memcmp(at, "://", 3))
        return UNCLEAR;
    Text host = {at + 3, 0};
    while (host.at + host.size < end && host.at[host.size] != '/') {
        char c = host.at[host.size++];
        if (!(c >= 'a' && c <= 'z') && !is_digit(c) && c != '-' && c != '.')
            return UNCLEAR;
    }
    if (host.size > 4 && !memcmp(host.at, "www.", 4))
        host = (Text){host.at + 4, host.size - 4};
    bool same = host.size == strlen(scan->host) && !memcmp(host.at, scan->host, host.size);
    return same ? OWN : FOREIGN;
}

/* Add the image that a <meta> names, if it is of the page's own site. */
static Status read_image(Scan *scan, const Tag *tag)
{
    Text content = tag->value[CONTENT];
    Site site = value_kind(content) == UNDECODED ? UNCLEAR : site_of(scan, content);
    return site == OWN ? add_address(scan, tag, CONTENT, IMAGE)
         : site == FOREIGN ? DONE : ask_tag(scan, tag);
}

/* Read the names of a <meta>: whether the reader has to, or one is that of an image. */
static bool is_unclear_name(Text name)
{
    return memchr(name.at, '&', name.size) || is_word(name, "msapplication-config");
}

static Status read_named(Scan *scan, const Tag *tag)
{
    bool is_image = false;
    for (int name = NAME; name <= ITEMPROP; name++) {
        if (!has(tag, name))
            continue;
        if (is_unclear_name(tag->value[name]))
            return ask_tag(scan, tag);
        is_image = is_image || is_image_name(tag->value[name]);
    }
    return is_image ? read_image(scan, tag) : DONE;
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
    if (read || has_common(tag) || has_lazy(tag))
        return ask_tag(scan, tag);
    return has(tag, CONTENT) ? read_named(scan, tag) : DONE;
}

static Status read_base(Scan *scan, const Tag *tag)
{
    if (has_common(tag) || has_lazy(tag))
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
        !has(tag, BACKGROUND) && !has(tag, PAINT) && !has_lazy(tag))
        return add_value(scan, tag, XLINK_HREF, is_image ? IMAGE : REQUISITE);
    bool is_local = has(tag, HREF) && tag->value[HREF].size && *tag->value[HREF].at == '#';
    bool is_link = has(tag, HREF) && (is_anchor || !is_local);
    return is_link || has_common(tag) || has_lazy(tag) ? ask_tag(scan, tag) : DONE;
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
    return ask_raw_text(scan, whole);
}

/* Whether a <script> of this text may have links: JSON-LD, a map of modules, or a module that
** imports others; true in case of doubt. */
static bool may_link(const Tag *tag, Text text)
{
    if (has_bytes(text, "Worker("))
        return true;
    if (!has(tag, TYPE) || !text.size)
        return false;
    Text type = tag->value[TYPE];
    if (has_word(type, "module"))
        return has_word(text, "import") || has_word(text, "export");
    return has_word(type, "ld+json") || has_word(type, "importmap") ||
           memchr(type.at, '&', type.size);
}

/* Pass over the text of an element that holds raw text. */
static Status pass_raw_text(Scan *scan, Page *page, const Tag *tag, const Element *element)
{
    Text text = raw_text(page, element->name);
    Role role = element->role;
    /* After both, the standard takes "</script" for a part of the script. */
    if (role == SCRIPT && has_bytes(text, "<!--") && has_word(text, "<script"))
        return LEFT;
    bool has_links = role == SCRIPT     ? may_link(tag, text)
                   : role == STYLES     ? has_common(tag) || has_lazy(tag) || may_have_urls(text)
                   : role == NOFRAMES   ? memchr(text.at, '<', text.size) != NULL
                                        : false;
    Text whole = {tag->text.at, (size_t)(page->at - tag->text.at)};
    return has_links ? ask_raw_text(scan, whole) : DONE;
}

/* The links of an <img>, <source> or <iframe>, and what stands in for them until they are seen. */
static Status read_media(Scan *scan, const Tag *tag, uint8_t kind)
{
    if (has(tag, OTHER) || has(tag, LAZY_OTHER))
        return ask_tag(scan, tag);
    Status status = add_value(scan, tag, SRC, kind);
    if (status == DONE && kind != SHOWN)
        status = add_candidates(scan, tag, SRCSET);
    if (status == DONE)
        status = add_address(scan, tag, LAZY, kind);
    bool has_set = has(tag, LAZY_SET) && kind != SHOWN;
    if (status != DONE || !has_set)
        return status;
    bool unclear = value_kind(tag->value[LAZY_SET]) == UNDECODED;
    return unclear || is_address(tag->value[LAZY_SET]) ? add_candidates(scan, tag, LAZY_SET) : DONE;
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
        return read_media(scan, tag, IMAGE);
    case SOURCE:
        return read_media(scan, tag, REQUISITE);
    case IFRAME:
        return read_media(scan, tag, SHOWN);
    case SCRIPT:
        return has(tag, HREF) ? ask_tag(scan, tag) : add_value(scan, tag, SRC, REQUISITE);
    case META:
        return read_meta(scan, tag);
    case BASE:
        return read_base(scan, tag);
    case BUTTON:
        return has(tag, FORMACTION) ? read_button(scan, tag) : DONE;
    case INPUT:
        if (has(tag, FORMACTION))
            return read_button(scan, tag);
        return has(tag, SRC) || has(tag, SRCSET) ? ask_tag(scan, tag) : DONE;
    case PARAM: {
        bool asked = has(tag, OTHER) || (has(tag, NAME) && is_parameter(tag->value[NAME]));
        return asked ? ask_tag(scan, tag) : DONE;
    }
    case RARE: {
        bool asked = has(tag, HREF) || has(tag, SRC) || has(tag, ACTION) || has(tag, OTHER);
        return asked ? ask_tag(scan, tag) : DONE;
    }
    default:
        return DONE;
    }
}

/* Whether `read_own` reads what stands in for the `src` of such an element. */
static bool is_media(Role role)
{
    return role == IMG || role == SOURCE || role == IFRAME;
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
        return has_common(tag) || has_lazy(tag) ? LEFT : DONE;
    case FORM:
        return read_form(scan, tag);
    case STYLES:
        return pass_raw_text(scan, page, tag, element);
    default:
        break;
    }
    bool whole = has_common(tag) || (has_lazy(tag) && !is_media(role));
    if (role == META || role == BASE)
        whole = false;
    Status status = whole ? ask_tag(scan, tag) : read_own(scan, tag, role);
    if (status != DONE)
        return status;
    switch (role) {
    case TEMPLATE:
        scan->templates++;
        return DONE;
    case SVG:
        return scan->depth > MOST_DEPTH ? LEFT : open_shape(scan, tag);
    case RAW: case NOFRAMES: case SCRIPT: case IFRAME:
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
    if (status == DONE && ((scan->owned && scan->posts) || (scan->unowned && scan->gets)))
        return LEFT;
    return status;
}
