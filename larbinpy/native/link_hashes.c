/* Keyed hashes of the links of a page, for the record from which `larbinpy report` knows all pages
** with a link (larbinpy/output/link_record.py). Some 15 ns for a URL of 60 bytes.
*/

#include "functions.h"
#include "packed.h"
#include "siphash.h"

static PyObject *hashes(const SipKey *key, const Packed *links)
{
    PyObject *result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(8 * links->count));
    if (result == NULL)
        return NULL;
    char *place = PyBytes_AsString(result);
    for (size_t k = 0; k < links->count; k++) {
        size_t size;
        const char *url = packed_url(links, k, &size);
        uint64_t hash = siphash(*key, url, size);
        memcpy(place + 8 * k, &hash, 8);
    }
    return result;
}

PyObject *hash_links(PyObject *Py_UNUSED(self), PyObject *args)
{
    Packed links;
    SipKey key;
    const char *bytes;
    Py_ssize_t size;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "y#y*y*y*:hash_links", &bytes, &size, &links.text, &links.ends,
                          &links.flags))
        return NULL;
    if (size != (Py_ssize_t)sizeof key) {
        PyErr_SetString(PyExc_ValueError, "the key must have 16 bytes");
    } else {
        memcpy(&key, bytes, sizeof key);
        if (packed_check(&links))
            result = hashes(&key, &links);
    }
    packed_release(&links);
    return result;
}
