/* The links of a page in three buffers, as `larbinpy.parse.link.PackedLinks` holds them. */

#ifndef LARBINPY_PACKED_H
#define LARBINPY_PACKED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Buffers that the caller has got; `packed_check` sets `count`. */
typedef struct {
    Py_buffer text, ends, flags;
    size_t count;
} Packed;

/* Whether the buffers fit together: without that, the functions below would leave them. If not,
** ValueError is set. */
bool packed_check(Packed *links);

void packed_release(Packed *links);

/* A new tuple (text, ends, flags) of the links at `places`, `count` indexes in ascending order. */
PyObject *packed_take(const Packed *links, const uint32_t *places, size_t count);

static inline size_t packed_end(const Packed *links, size_t place)
{
    uint32_t end;
    memcpy(&end, (const char *)links->ends.buf + 4 * place, 4);
    return end;
}

/* The URL at `place`; its length is stored in `size`. */
static inline const char *packed_url(const Packed *links, size_t place, size_t *size)
{
    size_t start = place ? packed_end(links, place - 1) : 0;
    *size = packed_end(links, place) - start;
    return (const char *)links->text.buf + start;
}

#endif
