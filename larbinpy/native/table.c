/* Lookup, insertion and moves of fingerprints in the memory of a FingerprintTable.
**
** `larbinpy.storage.fingerprint_table` says how the memory is laid out, and does everything else:
** strays, when to grow, images. These functions are for tables without strays. Slots are read and
** written with memcpy, and no slot outside the buffer is touched, even if the table is damaged: a run
** that reaches the end of the buffer raises IndexError, as it does in Python. A move makes a stray of
** such a fingerprint.
**
** Home slots of a large table are in memory that no cache has. They are requested for a chunk of
** the batch before the first of them is read, so the processor waits for all of them at once.
*/

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "functions.h"

enum { CHUNK = 64 };

typedef struct {
    Py_buffer slots, bases, widths;
    size_t length; /* The number of slots in the buffer. */
    int shift;     /* A fingerprint's bits from this one on choose its region. */
} Table;

static inline uint64_t get(const Py_buffer *buffer, size_t index)
{
    uint64_t value;
    memcpy(&value, (const char *)buffer->buf + 8 * index, 8);
    return value;
}

static bool check(Table *table)
{
    size_t regions = (size_t)table->bases.len / 8;
    table->length = (size_t)table->slots.len / 8;
    table->shift = 64;
    for (size_t k = regions; k > 1; k >>= 1)
        table->shift--;
    if (table->shift == 64 || (uint64_t)1 << (64 - table->shift) != regions ||
        table->bases.len != table->widths.len) {
        PyErr_SetString(PyExc_ValueError, "a table has 2, 4, 8 ... regions");
        return false;
    }
    return true;
}

static void release(Table *table)
{
    PyBuffer_Release(&table->slots);
    PyBuffer_Release(&table->bases);
    PyBuffer_Release(&table->widths);
}

/* The home slot of a fingerprint. It may lie outside a damaged table. */
static size_t home(const Table *table, uint64_t print)
{
    size_t region = (size_t)(print >> table->shift);
    uint64_t width = get(&table->widths, region);
    return (size_t)(get(&table->bases, region) + (width ? print % width : 0));
}

static void prefetch(const Table *table, size_t slot)
{
#ifdef __GNUC__
    if (slot < table->length)
        __builtin_prefetch((const char *)table->slots.buf + 8 * slot);
#else
    (void)table, (void)slot;
#endif
}

/* The slot of `print`, or the empty one that ends its run; `length` if there is neither. */
static size_t find(const Table *table, uint64_t print, size_t slot)
{
    for (; slot < table->length; slot++) {
        uint64_t known = get(&table->slots, slot);
        if (known == 0 || known == print)
            return slot;
    }
    return table->length;
}

/* Takes a fingerprint and its slot, as `find` returns it. Returns 1 if it is new, 0 if it is known,
** -1 to end the batch before it. */
typedef int Visit(const Table *table, uint64_t print, size_t slot, size_t last);

static int look(const Table *table, uint64_t print, size_t slot, size_t last)
{
    (void)print, (void)last;
    return get(&table->slots, slot) == 0;
}

static int insert(const Table *table, uint64_t print, size_t slot, size_t last)
{
    if (get(&table->slots, slot) != 0)
        return 0;
    if (print == 0 || slot >= last)
        return -1;
    memcpy((char *)table->slots.buf + 8 * slot, &print, 8);
    return 1;
}

/* Read the next fingerprints of `batch`, at most CHUNK, and request their homes; return their
** number, or -1 with an exception. */
static int start_chunk(const Table *table, PyObject *batch, Py_ssize_t from, uint64_t *prints,
                       size_t *homes)
{
    Py_ssize_t left = PyList_Size(batch) - from;
    int count = left < CHUNK ? (int)left : CHUNK;
    for (int k = 0; k < count; k++) {
        prints[k] = PyLong_AsUnsignedLongLong(PyList_GetItem(batch, from + k));
        if (prints[k] == UINT64_MAX && PyErr_Occurred())
            return -1;
        homes[k] = home(table, prints[k]);
        prefetch(table, homes[k]);
    }
    return count;
}

/* Append to `fresh` what `visit` says of each of a chunk; return 1 to go on, 0 at the end, -1 with
** an exception. */
static int visit_chunk(const Table *table, PyObject *batch, PyObject *fresh, Visit *visit,
                       size_t last)
{
    uint64_t prints[CHUNK];
    size_t homes[CHUNK];
    int count = start_chunk(table, batch, PyList_Size(fresh), prints, homes);
    for (int k = 0; k < count; k++) {
        size_t slot = find(table, prints[k], homes[k]);
        if (slot == table->length) {
            PyErr_SetString(PyExc_IndexError, "a run goes over the end of the table");
            return -1;
        }
        int is_new = visit(table, prints[k], slot, last);
        if (is_new < 0)
            return 0;
        if (PyList_Append(fresh, is_new ? Py_True : Py_False) < 0)
            return -1;
    }
    return count < 0 ? -1 : count == CHUNK;
}

static PyObject *visit_all(const Table *table, PyObject *batch, Visit *visit, size_t last)
{
    PyObject *fresh = PyList_New(0);
    int state = fresh ? 1 : -1;
    while (state > 0)
        state = visit_chunk(table, batch, fresh, visit, last);
    if (state < 0)
        Py_CLEAR(fresh);
    return fresh;
}

PyObject *table_absent(PyObject *Py_UNUSED(self), PyObject *args)
{
    Table table;
    PyObject *batch, *fresh = NULL;
    if (!PyArg_ParseTuple(args, "y*y*y*O!:absent", &table.slots, &table.bases, &table.widths,
                          &PyList_Type, &batch))
        return NULL;
    if (check(&table))
        fresh = visit_all(&table, batch, look, 0);
    release(&table);
    return fresh;
}

PyObject *table_add(PyObject *Py_UNUSED(self), PyObject *args)
{
    Table table;
    PyObject *batch, *fresh = NULL;
    Py_ssize_t last;
    if (!PyArg_ParseTuple(args, "w*y*y*nO!:add", &table.slots, &table.bases, &table.widths, &last,
                          &PyList_Type, &batch))
        return NULL;
    if (last < 0)
        PyErr_SetString(PyExc_ValueError, "the last slot is negative");
    else if (check(&table))
        fresh = visit_all(&table, batch, insert, (size_t)last);
    release(&table);
    return fresh;
}

/* Put a fingerprint into the first empty slot from its home on, or append it to `strays` if that is
** slot `last`. */
static bool put(const Table *table, uint64_t print, size_t last, PyObject *strays)
{
    size_t slot = home(table, print);
    while (slot < table->length && get(&table->slots, slot) != 0)
        slot++;
    if (slot < last && slot < table->length) {
        memcpy((char *)table->slots.buf + 8 * slot, &print, 8);
        return true;
    }
    PyObject *stray = PyLong_FromUnsignedLongLong(print);
    bool done = stray && PyList_Append(strays, stray) == 0;
    Py_XDECREF(stray);
    return done;
}

/* Put the fingerprints of the slots from `start` to `end`, which is a region that has moved, and of
** the run behind it to where they belong now. Some of that run belong to the region, and those that
** follow them to the next one. */
static bool move(const Table *table, size_t start, size_t end, size_t last, PyObject *strays)
{
    size_t over = end;
    while (over < table->length && get(&table->slots, over) != 0)
        over++;
    size_t count = over - start, size = 8 * (over - end);
    uint64_t *prints = PyMem_Malloc(8 * count + 1);
    if (prints == NULL) {
        PyErr_NoMemory();
        return false;
    }
    memcpy(prints, (char *)table->slots.buf + 8 * start, 8 * count);
    memset((char *)table->slots.buf + 8 * end, 0, size);
    bool done = true;
    for (size_t k = 0; done && k < count; k++)
        if (prints[k] != 0)
            done = put(table, prints[k], last, strays);
    PyMem_Free(prints);
    return done;
}

PyObject *table_move(PyObject *Py_UNUSED(self), PyObject *args)
{
    Table table;
    PyObject *strays = NULL;
    Py_ssize_t start, end, last;
    if (!PyArg_ParseTuple(args, "w*y*y*nnn:move", &table.slots, &table.bases, &table.widths, &start,
                          &end, &last))
        return NULL;
    if (check(&table)) {
        if (start < 0 || end < start || (size_t)end > table.length || last < 0)
            PyErr_SetString(PyExc_ValueError, "no such slots");
        else
            strays = PyList_New(0);
    }
    if (strays && !move(&table, (size_t)start, (size_t)end, (size_t)last, strays))
        Py_CLEAR(strays);
    release(&table);
    return strays;
}
