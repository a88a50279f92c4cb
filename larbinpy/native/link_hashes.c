/* Keyed hashes of the links of a page, for the record from which `larbinpy report` knows all pages
** with a link (larbinpy/output/links.py).
**
** Each 16 bytes are one multiplication of 64 by 64 bits, whose halves are combined, as in wyhash
** (Wang Yi, 2019). With a random key n different texts collide with a probability of some
** n^2 / 2^65; nobody sees the hashes. 4 ns for a URL of 60 bytes, where SipHash takes 16: all links
** of all pages are hashed, and that must stay below 1 % of a crawl.
*/

#include "functions.h"
#include "packed.h"

typedef struct {
    uint64_t k0, k1;
} FoldKey;

/* The halves of the product, combined. */
static inline uint64_t fold(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t low = (a & 0xffffffff) * (b & 0xffffffff), high = (a >> 32) * (b >> 32);
    uint64_t one = (a >> 32) * (b & 0xffffffff), two = (a & 0xffffffff) * (b >> 32);
    uint64_t middle = (low >> 32) + (one & 0xffffffff) + (two & 0xffffffff);
    low = (low & 0xffffffff) | middle << 32;
    high += (one >> 32) + (two >> 32) + (middle >> 32);
    return low ^ high;
#endif
}

static inline uint64_t fold_hash(FoldKey key, const char *text, size_t size)
{
    uint64_t hash = key.k0 ^ (uint64_t)size, words[2];
    size_t at = 0;
    for (; size - at >= sizeof words; at += sizeof words) {
        memcpy(words, text + at, sizeof words);
        hash = fold(words[0] ^ key.k1, words[1] ^ hash);
    }
    /* The rest, up to 15 bytes, and zeros. */
    words[0] = words[1] = 0;
    memcpy(words, text + at, size - at);
    hash = fold(words[0] ^ key.k1, words[1] ^ hash);
    return fold(hash ^ key.k0, key.k1);
}

static PyObject *hashes(FoldKey key, const Packed *links)
{
    PyObject *result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(8 * links->count));
    if (result == NULL)
        return NULL;
    char *place = PyBytes_AsString(result);
    for (size_t k = 0; k < links->count; k++) {
        size_t size;
        const char *url = packed_url(links, k, &size);
        uint64_t hash = fold_hash(key, url, size);
        memcpy(place + 8 * k, &hash, 8);
    }
    return result;
}

PyObject *hash_links(PyObject *Py_UNUSED(self), PyObject *args)
{
    Packed links;
    FoldKey key;
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
            result = hashes(key, &links);
    }
    packed_release(&links);
    return result;
}
