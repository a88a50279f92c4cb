/* The tags of an HTML page, one after the other, without a copy of a byte. */

#ifndef LARBINPY_TOKENS_H
#define LARBINPY_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of the page, not terminated. */
typedef struct {
    const char *at;
    size_t size;
} Text;

/* The attributes that decide about links. OTHER stands for those that are rare: srcset, imagesrcset,
** data and poster. */
typedef enum {
    HREF, SRC, REL, AS, ACTION, METHOD, NAME, CONTENT, HTTP_EQUIV, CHARSET,
    STYLE, BACKGROUND, XLINK_HREF, OTHER,
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

/* Read the text of a raw text element up to its end tag, which is next, or the end of the page. */
Text raw_text(Page *page, Text name);

/* Whether `text` is `word`, which is in lower case, in any case of ASCII. */
bool is_word(Text text, const char *word);

bool same_word(Text text, Text other);

/* Whether `word` occurs in `text`, in any case of ASCII. */
bool has_word(Text text, const char *word);

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
