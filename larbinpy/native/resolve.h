/* References to canonical URLs. */

#ifndef LARBINPY_RESOLVE_H
#define LARBINPY_RESOLVE_H

#include "links.h"

/* The URLs of a page, each once: the buffers of larbinpy.parse.link.PackedLinks. */
typedef struct {
    char *text;
    size_t size, room;
    uint32_t *ends;
    uint8_t *flags;
    uint32_t count, most;     /* `most` fit into `ends` and `flags` */
    Distinct distinct;
} Urls;

/* Add the URLs that were known before the page was read: a list of (URL, flags). */
Status add_known(Urls *urls, PyObject *known, SipKey key);

/* Resolve the references of `scan` against `base`, which is empty if no reference may be appended
** to it. */
Status resolve_links(Urls *urls, const Scan *scan, Text base);

#endif
