/* Batches of lookups and insertions in the memory of a FingerprintTable. */

#ifndef LARBINPY_TABLE_H
#define LARBINPY_TABLE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* absent(slots, bases, widths, batch), see _native.pyi */
PyObject *table_absent(PyObject *self, PyObject *args);

/* add(slots, bases, widths, last, batch), see _native.pyi */
PyObject *table_add(PyObject *self, PyObject *args);

#endif
