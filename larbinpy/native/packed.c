/* Packed links: checks, and the choice of some of them.
**
** Nothing here is trusted but the buffers' own lengths. All costs are linear in the buffers, and
** the copy of a page of 80 links takes some 300 ns.
*/

#include "packed.h"

#include "functions.h"

bool packed_check(Packed *links)
{
    size_t end = 0;
    bool good = links->ends.len % 4 == 0 && links->ends.len / 4 == links->flags.len;
    links->count = (size_t)links->flags.len;
    for (size_t k = 0; good && k < links->count; k++) {
        good = end <= packed_end(links, k);
        end = packed_end(links, k);
    }
    if (!good || end > (size_t)links->text.len) {
        PyErr_SetString(PyExc_ValueError, "these buffers hold no links");
        return false;
    }
    return true;
}

void packed_release(Packed *links)
{
    PyBuffer_Release(&links->text);
    PyBuffer_Release(&links->ends);
    PyBuffer_Release(&links->flags);
}

static void copy(const Packed *links, const uint32_t *places, size_t count, char *text, char *ends,
                 char *flags)
{
    uint32_t end = 0;
    for (size_t k = 0; k < count; k++) {
        size_t size;
        const char *url = packed_url(links, places[k], &size);
        memcpy(text + end, url, size);
        end += (uint32_t)size; /* No more than the end of the last link, which has 32 bits. */
        memcpy(ends + 4 * k, &end, 4);
        flags[k] = ((const char *)links->flags.buf)[places[k]];
    }
}

PyObject *packed_take(const Packed *links, const uint32_t *places, size_t count)
{
    PyObject *text, *ends, *flags, *taken = NULL;
    size_t total = 0;
    for (size_t k = 0; k < count; k++) {
        size_t size;
        packed_url(links, places[k], &size);
        total += size;
    }
    text = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
    ends = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(4 * count));
    flags = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)count);
    if (text && ends && flags) {
        copy(links, places, count, PyBytes_AsString(text), PyBytes_AsString(ends),
             PyBytes_AsString(flags));
        taken = PyTuple_Pack(3, text, ends, flags);
    }
    Py_XDECREF(text);
    Py_XDECREF(ends);
    Py_XDECREF(flags);
    return taken;
}

static PyObject *select_wanted(const Packed *links, const char *wanted, size_t size)
{
    const char *flags = links->flags.buf;
    uint32_t *places = PyMem_Malloc(links->count * sizeof *places);
    PyObject *taken;
    size_t count = 0;
    if (places == NULL)
        return PyErr_NoMemory();
    for (size_t k = 0; k < links->count; k++)
        if (memchr(wanted, flags[k], size))
            places[count++] = (uint32_t)k;
    taken = packed_take(links, places, count);
    PyMem_Free(places);
    return taken;
}

PyObject *select_links(PyObject *Py_UNUSED(self), PyObject *args)
{
    Packed links;
    PyObject *taken = NULL;
    const char *wanted;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "y*y*y*y#:select_links", &links.text, &links.ends, &links.flags,
                          &wanted, &size))
        return NULL;
    if (packed_check(&links))
        taken = select_wanted(&links, wanted, (size_t)size);
    packed_release(&links);
    return taken;
}
