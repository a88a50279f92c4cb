/* The tags of an HTML page, one after the other, without a copy of a byte. */

#ifndef LARBINPY_TOKENS_H
#define LARBINPY_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A piece of the page, not terminated. */
typedef struct {
    const char *at;
    size_t size;
} Text;

/* The attributes that decide about links. LAZY and LAZY_SET stand for the frequent ones of
** larbinpy.parse.lazy; LAZY_OTHER stands for the others, and for a second one in a tag. OTHER stands
** for all that are rare, each on a few elements: imagesrcset, data, poster, srcdoc, longdesc ...
** PAINT stands for the attributes of SVG that are values of CSS, where one has a url(). */
typedef enum {
    HREF, SRC, SRCSET, REL, AS, TYPE, ACTION, METHOD, FORMACTION, FORMMETHOD,
    NAME, PROPERTY, ITEMPROP, CONTENT, HTTP_EQUIV, CHARSET,
    STYLE, PAINT, BACKGROUND, XLINK_HREF, LAZY, LAZY_SET, LAZY_OTHER, OTHER,
    ATTRIBUTES,
} Attribute;

typedef struct {
    Text text;                /* from '<' to '>' */
    Text name;                /* as it is spelled */
    bool is_end;
    bool self_closing;
    unsigned has;             /* a bit for each attribute */
    Text value[ATTRIBUTES];   /* only of those in `has`; references are not decoded */
} Tag;

/* A page while it is read. */
typedef struct {
    const char *at;           /* the next byte */
    const char *end;
    bool has_cdata;           /* "<![CDATA[" was passed over as a comment, wrong within SVG */
} Page;

/* Read up to the end of the next tag; false at the end of the page. */
bool next_tag(Page *page, Tag *tag);

/* Read raw text up to the end tag of the element `word`, which is next, or the end of the page. */
Text raw_text(Page *page, const char *word);

/* Whether `word` occurs in `text`, in any case of ASCII. */
bool has_word(Text text, const char *word);

/* As `has_word`, in this spelling alone. */
bool has_bytes(Text text, const char *bytes);

static inline char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Whether the `size` bytes at `text` are those at `word`, which is in lower case, in any case. */
static inline bool spells(const char *text, const char *word, size_t size)
{
    for (size_t k = 0; k < size; k++)
        if (lower(text[k]) != word[k])
            return false;
    return true;
}

static inline bool is_word(Text text, const char *word)
{
    return text.size == strlen(word) && spells(text.at, word, text.size);
}

/* Whether two names are the same in any case. */
static inline bool same_word(Text text, Text other)
{
    if (text.size != other.size)
        return false;
    for (size_t k = 0; k < text.size; k++)
        if (lower(text.at[k]) != lower(other.at[k]))
            return false;
    return true;
}

static inline bool has(const Tag *tag, Attribute attribute)
{
    return tag->has >> attribute & 1;
}

static inline bool is_space(char c)
{
    return (unsigned char)c <= ' ' && (UINT64_C(0x100003600) >> c & 1);  /* blank, \t \n \f \r */
}

static inline bool is_letter(char c)
{
    return (unsigned char)((c | 0x20) - 'a') < 26;
}

#endif
