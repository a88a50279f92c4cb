/* Resolves references and spells the URLs canonically.
**
** Most references are plain: neither the URL standard nor the canonical spelling changes them. They
** are appended to the origin of the base or to one of its folders. The reader resolves the others
** with larbinpy.url, whose class Base has the same rules and is their definition.
*/

#include "resolve.h"

#include <string.h>

#include "memo.h"

/* As larbinpy.url.MAX_LENGTH; longer ones are left to the reader. */
#define MAX_LENGTH 8000
#define LONGEST_ORIGIN 300

/* Folders above that of the base which a reference may go up to. */
#define MOST_UP 8

/* Most bytes of URLs; with more, the page is LEFT. */
#define MOST_TEXT ((size_t)8 << 20)

typedef struct {
    Text url;
    size_t origin;            /* its length */
    size_t folder[MOST_UP];   /* lengths of the folder and of those above it, with their slash */
    unsigned folders;
} Base;

static Base prepare(Text url)
{
    Base base = {.url = url};
    const char *slash = url.size > 8 ? memchr(url.at + 8, '/', url.size - 8) : NULL;
    if (!slash)
        return base;
    base.origin = (size_t)(slash - url.at);
    const char *query = memchr(slash, '?', url.size - base.origin);
    size_t end = query ? (size_t)(query - url.at) : url.size;
    while (end > base.origin && base.folders < MOST_UP) {
        while (url.at[end - 1] != '/')
            end--;
        base.folder[base.folders++] = end--;
    }
    /* The standard drops steps above the root. */
    while (base.folders < MOST_UP)
        base.folder[base.folders++] = base.origin + 1;
    return base;
}

/* Characters of a segment besides the dot: [\w~,;=&+!$*()@:-], a bit for each. */
static bool in_segment(char c)
{
    static const uint64_t BITS[4] = {0x2fff3f5200000000, 0x47fffffe87ffffff, 0, 0};
    unsigned char place = (unsigned char)c;
    return BITS[place >> 6] >> (place & 63) & 1;
}

/* Whether `at` is a sequence of segments that do not begin with a dot, and perhaps a query. */
static bool is_path(const char *at, const char *end)
{
    bool begins = true;
    for (; at < end && *at != '?'; at++) {
        if (in_segment(*at))
            begins = false;
        else if (begins || (*at != '.' && *at != '/'))
            return false;
        else
            begins = *at == '/';
    }
    if (at == end)
        return true;
    if (++at == end)
        return false;
    for (; at < end; at++)
        if (!in_segment(*at) && *at != '.' && *at != '/' && *at != '?')
            return false;
    return true;
}

/* Whether `at` is such a sequence, not empty, and its first segment has no colon, which would end a
** scheme. */
static bool is_relative(const char *at, const char *end)
{
    for (const char *c = at; c < end && *c != '/' && *c != '?'; c++)
        if (*c == ':')
            return false;
    return at < end && *at != '?' && is_path(at, end);
}

/* Whether paths may be appended to `origin`; less than 0 if that fails. */
static int is_origin(const Scan *scan, Text origin)
{
    static Memo memo;
    uint64_t hash = siphash(scan->key, origin.at, origin.size);
    int *known = recall(memo, hash);
    if (!known) {
        PyObject *found = PyObject_CallMethod(
            scan->reader, "is_origin", "s#", origin.at, (Py_ssize_t)origin.size);
        if (!found)
            return -1;
        int answer = PyObject_IsTrue(found);
        Py_DECREF(found);
        if (answer < 0)
            return -1;
        known = keep(memo, hash, answer);
    }
    return *known;
}

/* The two parts of the URL of a plain reference; `*head` is empty for others. */
static Status join(const Base *base, const Scan *scan, Text reference, Text *head, Text *tail)
{
    const char *at = reference.at, *end = at + reference.size;
    *head = (Text){at, 0};
    *tail = reference;
    if (reference.size > 8 && !memcmp(at, "http", 4)) {
        size_t most = reference.size < LONGEST_ORIGIN ? reference.size : LONGEST_ORIGIN;
        const char *slash = memchr(at + 8, '/', most - 8);
        int accepted = slash && is_path(slash + 1, end)
                           ? is_origin(scan, (Text){at, (size_t)(slash - at)}) : 0;
        if (accepted > 0)
            *head = reference, *tail = (Text){end, 0};
        if (slash)
            return accepted < 0 ? FAILED : DONE;
    }
    if (!base->url.size)
        return DONE;
    if (!reference.size) {
        *head = base->url;
    } else if (*at == '/') {
        if (is_path(at + 1, end))
            *head = (Text){base->url.at, base->origin};
    } else {
        unsigned up = 0;
        if (end - at >= 2 && !memcmp(at, "./", 2))
            at += 2;
        for (; end - at >= 3 && !memcmp(at, "../", 3); at += 3)
            up++;
        if (up < base->folders && (is_relative(at, end) || at == end)) {
            *head = (Text){base->url.at, base->folder[up]};
            *tail = (Text){at, (size_t)(end - at)};
        }
    }
    return DONE;
}

/* Make room for `size` bytes more of text and for one more URL. */
static bool make_room(Urls *urls, size_t size)
{
    if (urls->size + size >= urls->room) {
        size_t room = 2 * (urls->size + size) + 4096;
        char *text = realloc(urls->text, room);
        if (!text)
            return false;
        urls->text = text;
        urls->room = room;
    }
    if (urls->count == urls->most) {
        uint32_t most = urls->most ? 2 * urls->most : 128;
        uint32_t *ends = realloc(urls->ends, most * sizeof *ends);
        if (ends)
            urls->ends = ends;
        uint8_t *flags = realloc(urls->flags, most);
        if (flags)
            urls->flags = flags;
        if (!ends || !flags)
            return false;
        urls->most = most;
    }
    return true;
}

/* Add the URL that consists of two parts. */
static Status add_url(Urls *urls, SipKey key, Text head, Text tail, uint8_t flags)
{
    size_t size = head.size + tail.size;
    if (urls->size + size > MOST_TEXT)
        return LEFT;
    if (!make_room(urls, size))
        return PyErr_NoMemory(), FAILED;
    char *url = urls->text + urls->size;
    memcpy(url, head.at, head.size);
    memcpy(url + head.size, tail.at, tail.size);
    uint32_t number = number_of(&urls->distinct, siphash(key, url, size));
    if (number == UINT32_MAX)
        return PyErr_NoMemory(), FAILED;
    if (number < urls->count) {
        urls->flags[number] = merged(urls->flags[number], flags);
    } else {
        urls->size += size;
        urls->ends[urls->count] = (uint32_t)urls->size;
        urls->flags[urls->count++] = flags;
    }
    return DONE;
}

Status add_known(Urls *urls, PyObject *known, SipKey key)
{
    Status status = DONE;
    for (Py_ssize_t k = 0; status == DONE && k < PyList_Size(known); k++) {
        const char *at;
        Py_ssize_t size;
        int flags;
        if (!PyArg_ParseTuple(PyList_GetItem(known, k), "s#i", &at, &size, &flags))
            return FAILED;
        status = add_url(urls, key, (Text){at, (size_t)size}, (Text){at, 0}, (uint8_t)flags);
    }
    return status;
}

/* Whether `reference` is absolute, with another scheme than http and https. */
static bool has_other_scheme(Text reference)
{
    static const Text HTTP = {"http", 4}, HTTPS = {"https", 5};
    Text scheme = {reference.at, 0};
    for (; scheme.size < reference.size; scheme.size++) {
        char c = scheme.at[scheme.size];
        if (c == ':')
            return scheme.size && !same_word(scheme, HTTP) && !same_word(scheme, HTTPS);
        if (!is_letter(c) && (!scheme.size || !c || !strchr("0123456789+.-", c)))
            return false;
    }
    return false;
}

/* Let the reader resolve a reference that is not plain. */
static Status resolve_other(Urls *urls, const Scan *scan, const Reference *reference)
{
    if (has_other_scheme(reference->text))
        return DONE;
    PyObject *url = PyObject_CallMethod(
        scan->reader, "resolve", "s#", reference->text.at, (Py_ssize_t)reference->text.size);
    if (!url)
        return FAILED;
    Status status = DONE;
    if (url != Py_None) {
        Py_ssize_t size;
        const char *at = PyUnicode_AsUTF8AndSize(url, &size);
        status = at ? add_url(urls, scan->key, (Text){at, (size_t)size}, (Text){at, 0},
                              reference->flags)
                    : FAILED;
    }
    Py_DECREF(url);
    return status;
}

Status resolve_links(Urls *urls, const Scan *scan, Text url)
{
    Base base = prepare(url);
    Status status = DONE;
    for (uint32_t k = 0; status == DONE && k < scan->count; k++) {
        const Reference *reference = &scan->references[k];
        Text head, tail;
        status = join(&base, scan, reference->text, &head, &tail);
        if (status != DONE)
            break;
        if (head.size && head.size + tail.size <= MAX_LENGTH)
            status = add_url(urls, scan->key, head, tail, reference->flags);
        else
            status = resolve_other(urls, scan, reference);
    }
    return status;
}
