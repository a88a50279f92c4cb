/* A cache of URLs in front of the set of all URLs seen: links that most pages have are recognised
** without a fingerprint and without an access to the large table.
**
** The cache is a buffer of the caller: a key of 16 random bytes, then sets of four hashes, each of
** 8 bytes, the latest first. The lowest bits of a hash choose its set. Only the hashes are compared:
** a URL is taken for another with a probability of 2**-48 or less, in a cache of 2**16, and because
** of the key nobody can look for such a URL. An empty place is 0, and so is one hash of 2**64.
**
** A lookup costs some 15 ns for a URL of 60 bytes, a fingerprint 125 ns and a look into the table.
*/

#include <stdbool.h>

#include "blake2b.h"
#include "functions.h"
#include "packed.h"
#include "siphash.h"

enum { KEY = sizeof(SipKey), WAYS = 4, SET = WAYS * 8 };

typedef struct {
    SipKey key;
    char *sets;
    size_t mask; /* The number of sets, a power of two, less one. */
} Recent;

static bool open_recent(Recent *recent, const Py_buffer *memory)
{
    size_t size = (size_t)memory->len;
    size_t sets = size < KEY ? 0 : (size - KEY) / SET;
    if (sets == 0 || (sets & (sets - 1)) != 0 || size != KEY + sets * SET) {
        PyErr_SetString(PyExc_ValueError, "the cache must have 2**n sets behind its key");
        return false;
    }
    memcpy(&recent->key, memory->buf, KEY);
    recent->sets = (char *)memory->buf + KEY;
    recent->mask = sets - 1;
    return true;
}

/* Put `hash` first in its set and return true, if it is there. If not, and `insert` says so, it
** takes the place of the last one. */
static bool touch(const Recent *recent, uint64_t hash, bool insert)
{
    char *set = recent->sets + (hash & recent->mask) * SET;
    uint64_t hashes[WAYS];
    int way = 0;
    memcpy(hashes, set, SET);
    while (way < WAYS && hashes[way] != hash)
        way++;
    bool known = way < WAYS;
    if (known || insert) {
        memmove(set + 8, set, 8 * (size_t)(known ? way : WAYS - 1));
        memcpy(set, &hash, 8);
    }
    return known;
}

static uint64_t hash_of(const Recent *recent, const Packed *links, size_t place)
{
    size_t size;
    const char *url = packed_url(links, place, &size);
    return siphash(recent->key, url, size);
}

/* Fill `places` with the places of the links that are not in the cache; return their number. */
static size_t find_unknown(const Recent *recent, const Packed *links, uint32_t *places)
{
    size_t count = 0;
    for (size_t k = 0; k < links->count; k++)
        if (!touch(recent, hash_of(recent, links, k), false))
            places[count++] = (uint32_t)k;
    return count;
}

static PyObject *fingerprints(const Packed *links, const uint32_t *places, size_t count)
{
    PyObject *prints = PyList_New((Py_ssize_t)count);
    for (size_t k = 0; prints && k < count; k++) {
        size_t size;
        const char *url = packed_url(links, places[k], &size);
        PyObject *print = PyLong_FromUnsignedLongLong(blake2b_64(url, size));
        /* The list takes over the reference, even if it fails. */
        if (print == NULL || PyList_SetItem(prints, (Py_ssize_t)k, print) < 0)
            Py_CLEAR(prints);
    }
    return prints;
}

static PyObject *unknown(const Recent *recent, const Packed *links)
{
    uint32_t *places = PyMem_Malloc(links->count * sizeof *places);
    PyObject *taken, *prints, *result = NULL;
    if (places == NULL)
        return PyErr_NoMemory();
    size_t count = find_unknown(recent, links, places);
    taken = packed_take(links, places, count);
    prints = fingerprints(links, places, count);
    PyMem_Free(places);
    if (taken && prints)
        result = PyTuple_Pack(2, taken, prints);
    Py_XDECREF(taken);
    Py_XDECREF(prints);
    return result;
}

PyObject *unknown_links(PyObject *Py_UNUSED(self), PyObject *args)
{
    Py_buffer memory;
    Recent recent;
    Packed links;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "w*y*y*y*:unknown_links", &memory, &links.text, &links.ends,
                          &links.flags))
        return NULL;
    if (open_recent(&recent, &memory) && packed_check(&links))
        result = unknown(&recent, &links);
    packed_release(&links);
    PyBuffer_Release(&memory);
    return result;
}

static PyObject *learn(const Recent *recent, const Packed *links, PyObject *unseen)
{
    if ((size_t)PyList_Size(unseen) != links->count) {
        PyErr_SetString(PyExc_ValueError, "there is not one answer for each link");
        return NULL;
    }
    for (size_t k = 0; k < links->count; k++)
        if (PyList_GetItem(unseen, (Py_ssize_t)k) == Py_False)
            touch(recent, hash_of(recent, links, k), true);
    Py_RETURN_NONE;
}

PyObject *learn_links(PyObject *Py_UNUSED(self), PyObject *args)
{
    Py_buffer memory;
    Recent recent;
    Packed links;
    PyObject *unseen, *result = NULL;
    if (!PyArg_ParseTuple(args, "w*y*y*y*O!:learn_links", &memory, &links.text, &links.ends,
                          &links.flags, &PyList_Type, &unseen))
        return NULL;
    if (open_recent(&recent, &memory) && packed_check(&links))
        result = learn(&recent, &links, unseen);
    packed_release(&links);
    PyBuffer_Release(&memory);
    return result;
}
