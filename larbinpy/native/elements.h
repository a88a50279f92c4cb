/* The elements of HTML and SVG, by what the pass over the tags of a page does with them. */

#ifndef LARBINPY_ELEMENTS_H
#define LARBINPY_ELEMENTS_H

#include "tokens.h"

typedef enum {
    PLAIN_ELEMENT,            /* no links but those that any element may have */
    ANCHOR, LINK, IMG, SOURCE, SCRIPT, IFRAME, FORM, BUTTON, INPUT, PARAM, META, BASE,
    RARE,                     /* has links that the reader knows */
    RAW,                      /* raw text without links of its own */
    NOFRAMES,                 /* raw text that is a document */
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

/* The element of a name, in any case; one without a name for all that are not listed. */
const Element *element_named(Text name);

#endif
