/* The links of a page: its references in the order in which they appear, each once. */

#ifndef LARBINPY_LINKS_H
#define LARBINPY_LINKS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include "distinct.h"
#include "siphash.h"
#include "tokens.h"

/* The numbers of larbinpy.parse.link: the kinds and a flag. KIND is also that of no link. */
enum { PAGE = 0, IMAGE = 1, SHEET = 2, REQUISITE = 3, SHOWN = 4, KIND = 7, NOFOLLOW = 8 };

/* How a step ended: well; with a page that is left to the tree; with a Python exception. */
typedef enum { DONE, LEFT, FAILED } Status;

typedef struct {
    Text text;                /* without its fragment; UTF-8 */
    uint8_t flags;            /* kind, and NOFOLLOW if all its links to follow have it */
} Reference;

/* Pages with deeper drawings are LEFT. */
#define MOST_SHAPES 32

typedef struct {
    PyObject *reader;         /* answers questions: _Answers of larbinpy/parse/body.py */
    const char *agent;        /* in lower case */
    const char *host;         /* of the page; Collector.host of larbinpy.parse.link */
    SipKey key;
    bool declared;            /* whether the page's encoding is known */
    Reference *references;
    uint32_t count, room;
    Distinct distinct;
    PyObject *kept;           /* a list of the objects that hold texts of references */
    /* The state of the tree, as far as it decides whether an element is dropped. */
    bool has_base, in_form;
    bool gets, posts;         /* whether there are forms that use GET, or another method */
    bool owned, unowned;      /* whether a formaction was taken for that of such a form, or not */
    unsigned templates;       /* how many are open */
    unsigned shapes;          /* how many elements of SVG are open, and their names */
    Text shape[MOST_SHAPES];
    int depth;                /* start tags less end tags: about how deep elements are nested */
    size_t credit;            /* how much the reader may still be asked; see links.c */
} Scan;

Status read_links(Scan *scan, Page page);

/* Merge the flags of two links to the same URL. */
uint8_t merged(uint8_t flags, uint8_t other);

#endif
