/* The functions of the module besides `scan`; _native.pyi describes them. */

#ifndef LARBINPY_FUNCTIONS_H
#define LARBINPY_FUNCTIONS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *clear_registers(PyObject *self, PyObject *arguments);
PyObject *hash_links(PyObject *self, PyObject *args);
PyObject *select_links(PyObject *self, PyObject *args);
PyObject *unknown_links(PyObject *self, PyObject *args);
PyObject *learn_links(PyObject *self, PyObject *args);
PyObject *table_absent(PyObject *self, PyObject *args);
PyObject *table_add(PyObject *self, PyObject *args);
PyObject *table_move(PyObject *self, PyObject *args);
PyObject *word_forms(PyObject *self, PyObject *args);

#endif
