/* A cache of the URLs that pages link to most; see _native.pyi for the functions. */

#ifndef LARBINPY_RECENT_H
#define LARBINPY_RECENT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* unknown_links(recent, text, ends, flags) */
PyObject *unknown_links(PyObject *self, PyObject *args);

/* learn_links(recent, text, ends, flags, unseen) */
PyObject *learn_links(PyObject *self, PyObject *args);

#endif
