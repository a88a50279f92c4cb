/* The tokenizer of the HTML standard (section 13.2.5), as far as tags are concerned.
**
** It works on bytes, in any encoding in which the bytes below 0x40 are those of ASCII wherever they
** stand. Text, comments and doctypes are passed over. The caller excludes zero bytes, which the
** standard replaces; it also knows which elements hold raw text, and calls `raw_text` for them.
**
** Each byte is read a bounded number of times: a search that fails ends the page.
*/

#include "tokens.h"

static bool begins(const char *at, const char *end, const char *word)
{
    size_t size = strlen(word);
    return (size_t)(end - at) >= size && spells(at, word, size);
}

bool has_word(Text text, const char *word)
{
    const char *end = text.at + text.size;
    for (const char *at = text.at; at < end; at++)
        if ((*at | 0x20) == (*word | 0x20) && begins(at, end, word))
            return true;
    return false;
}

static const char *find(const char *at, const char *end, char c)
{
    const char *found = memchr(at, c, (size_t)(end - at));
    return found ? found : end;
}

bool has_bytes(Text text, const char *bytes)
{
    const char *end = text.at + text.size;
    size_t size = strlen(bytes);
    for (const char *at = text.at; (at = find(at, end, *bytes)) < end; at++)
        if ((size_t)(end - at) >= size && !memcmp(at, bytes, size))
            return true;
    return false;
}

/* The first byte after `c`, or the end. */
static const char *after(const char *at, const char *end, char c)
{
    at = find(at, end, c);
    return at < end ? at + 1 : end;
}

/* The end of the comment whose text begins at `at`. */
static const char *after_comment(const char *at, const char *end)
{
    if (begins(at, end, ">"))
        return at + 1;
    if (begins(at, end, "->"))
        return at + 2;
    for (; (at = find(at, end, '-')) < end; at++) {
        while (begins(at, end, "---"))
            at++;
        if (begins(at, end, "-->"))
            return at + 3;
        if (begins(at, end, "--!>"))
            return at + 4;
    }
    return end;
}

/* The end of what follows "<" and is no tag: a comment, a doctype, or text. */
static const char *after_other(Page *page, const char *at)
{
    const char *end = page->end;
    if (begins(at, end, "!--"))
        return after_comment(at + 3, end);
    if (begins(at, end, "![cdata["))
        page->has_cdata = true;
    if (at < end && (*at == '!' || *at == '?' || (*at == '/' && at + 1 < end)))
        return after(at, end, '>');
    return at;
}

static bool is_one(Text name, const char *const *words)
{
    for (; *words; words++)
        if (is_word(name, *words))
            return true;
    return false;
}

/* The attributes of lazy loaders, as larbinpy.parse.lazy has them, by how they are read. */
static const char *const LAZY_NAMES[] = {"data-src", "data-lazy-src", "data-original", NULL};
static const char *const LAZY_SET_NAMES[] = {
    "data-srcset", "data-lazy-srcset", "data-original-srcset", NULL};
static const char *const LAZY_OTHER_NAMES[] = {
    "data-lazy", "data-lazyload", "data-echo", "data-src-retina", "data-cfsrc",
    "data-pagespeed-lazy-src", "data-splide-lazy", "data-flickity-lazyload",
    "data-flickity-lazyload-src", "data-splide-lazy-srcset", "data-flickity-lazyload-srcset",
    "data-bg", "data-bg-image", "data-bg-src", "data-lazy-bg", "data-background",
    "data-background-image", "data-lazy-background", "data-bgset", "data-poster",
    "data-resource-suffix", "data-search-js", NULL};

static Attribute data_attribute(Text name)
{
    return is_one(name, LAZY_NAMES) ? LAZY
         : is_one(name, LAZY_SET_NAMES) ? LAZY_SET
         : is_one(name, LAZY_OTHER_NAMES) ? LAZY_OTHER : ATTRIBUTES;
}

/* Whether a data- attribute of an <img> or <source>, of any name, may be the address of an image:
** larbinpy.parse.grammars.is_image decides. A reference of a character might spell either sign. */
static bool may_be_image(const Tag *tag, Text name, Text value)
{
    if (name.size < 6 || !spells(name.at, "data-", 5) || value.size < 6)
        return false;
    if (!is_word(tag->name, "img") && !is_word(tag->name, "source"))
        return false;
    bool unclear = memchr(value.at, '&', value.size);
    return unclear || (strchr("/.hH \t\n\f\r\\", *value.at) && memchr(value.at, '.', value.size));
}

static Attribute attribute_named(Text name)
{
    if (name.size >= 7 && spells(name.at, "data-", 5))
        return data_attribute(name);
    switch (name.size) {
    case 2:
        return is_word(name, "as") ? AS : ATTRIBUTES;
    case 3:
        return is_word(name, "src") ? SRC : is_word(name, "rel") ? REL : ATTRIBUTES;
    case 4:
        return is_word(name, "href") ? HREF
             : is_word(name, "name") ? NAME
             : is_word(name, "type") ? TYPE
             : is_word(name, "fill") || is_word(name, "mask") ? PAINT
             : is_word(name, "data") || is_word(name, "cite") ? OTHER : ATTRIBUTES;
    case 5:
        return is_word(name, "style") ? STYLE : ATTRIBUTES;
    case 6:
        return is_word(name, "action") ? ACTION
             : is_word(name, "method") ? METHOD
             : is_word(name, "srcset") ? SRCSET
             : is_word(name, "stroke") || is_word(name, "filter") || is_word(name, "cursor") ||
               is_word(name, "marker") ? PAINT
             : is_word(name, "poster") || is_word(name, "srcdoc") || is_word(name, "lowsrc") ||
               is_word(name, "dynsrc") ? OTHER : ATTRIBUTES;
    case 7:
        return is_word(name, "content") ? CONTENT
             : is_word(name, "charset") ? CHARSET
             : is_word(name, "archive") ? OTHER : ATTRIBUTES;
    case 8:
        return is_word(name, "property") ? PROPERTY
             : is_word(name, "itemprop") ? ITEMPROP
             : is_word(name, "longdesc") || is_word(name, "codebase") ? OTHER : ATTRIBUTES;
    case 9:
        return is_word(name, "valuetype") ? OTHER : is_word(name, "clip-path") ? PAINT : ATTRIBUTES;
    case 10:
        return is_word(name, "background") ? BACKGROUND
             : is_word(name, "http-equiv") ? HTTP_EQUIV
             : is_word(name, "xlink:href") ? XLINK_HREF
             : is_word(name, "formaction") ? FORMACTION
             : is_word(name, "formmethod") ? FORMMETHOD
             : is_word(name, "marker-mid") || is_word(name, "marker-end") ? PAINT : ATTRIBUTES;
    case 11:
        return is_word(name, "imagesrcset") ? OTHER : ATTRIBUTES;
    case 12:
        return is_word(name, "marker-start") ? PAINT : ATTRIBUTES;
    default:
        return ATTRIBUTES;
    }
}

/* Read the value at `at`, behind "=" and blanks; NULL if the page ends in it. */
static const char *read_value(const char *at, const char *end, Text *value)
{
    char quote = *at;
    if (quote == '"' || quote == '\'') {
        const char *close = find(++at, end, quote);
        *value = (Text){at, (size_t)(close - at)};
        return close < end ? close + 1 : NULL;
    }
    value->at = at;
    while (at < end && *at != '>' && !is_space(*at))
        at++;
    value->size = (size_t)(at - value->at);
    return at;
}

static const char *skip_spaces(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

/* Read the attribute at `at` into `tag`; NULL if the page ends in it. The first of a name counts. */
static const char *read_attribute(const char *at, const char *end, Tag *tag)
{
    Text name = {at, 0}, value = {at, 0};
    do   /* a name may begin with "=" */
        at++;
    while (at < end && *at != '=' && *at != '>' && *at != '/' && !is_space(*at));
    name.size = (size_t)(at - name.at);
    at = skip_spaces(at, end);
    if (at < end && *at == '=') {
        at = skip_spaces(at + 1, end);
        if (at < end && *at != '>')
            at = read_value(at, end, &value);
    }
    Attribute attribute = attribute_named(name);
    if ((attribute == LAZY || attribute == LAZY_SET) && has(tag, attribute))
        attribute = LAZY_OTHER;
    if (attribute == PAINT && !memchr(value.at, '(', value.size))
        attribute = ATTRIBUTES;
    if (attribute == ATTRIBUTES && may_be_image(tag, name, value))
        attribute = LAZY_OTHER;
    if (attribute != ATTRIBUTES && !has(tag, attribute)) {
        tag->has |= 1u << attribute;
        tag->value[attribute] = value;
    }
    return at;
}

/* Read the tag whose name begins at `at`; false if the page ends in it. */
static bool read_tag(Page *page, const char *at, Tag *tag)
{
    const char *end = page->end;
    tag->name.at = at;
    while (at < end && *at != '>' && *at != '/' && !is_space(*at))
        at++;
    tag->name.size = (size_t)(at - tag->name.at);
    tag->self_closing = false;
    tag->has = 0;
    for (;;) {
        at = skip_spaces(at, end);
        if (at >= end)
            break;
        if (*at == '>') {
            page->at = at + 1;
            tag->text.size = (size_t)(page->at - tag->text.at);
            return true;
        }
        if (*at == '/') {
            at++;
            tag->self_closing = at < end && *at == '>';
        } else {
            at = read_attribute(at, end, tag);
            if (!at)
                break;
        }
    }
    page->at = end;
    return false;
}

bool next_tag(Page *page, Tag *tag)
{
    const char *at = page->at, *end = page->end;
    while ((at = find(at, end, '<')) < end) {
        tag->text.at = at++;
        tag->is_end = at < end && *at == '/';
        const char *name = at + tag->is_end;
        if (name < end && is_letter(*name))
            return read_tag(page, name, tag);
        at = after_other(page, at);
    }
    page->at = end;
    return false;
}

Text raw_text(Page *page, const char *word)
{
    const char *at = page->at, *end = page->end;
    size_t size = strlen(word);
    Text text = {at, 0};
    for (; (at = find(at, end, '<')) < end; at++) {
        if ((size_t)(end - at) < size + 3) {
            at = end;
            break;
        }
        const char *close = at + 2 + size;
        if (at[1] != '/' || (*close != '>' && *close != '/' && !is_space(*close)))
            continue;
        if (spells(at + 2, word, size))
            break;
    }
    page->at = at;
    text.size = (size_t)(at - text.at);
    return text;
}
