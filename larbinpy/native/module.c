/* The compiled module as Python sees it. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "functions.h"
#include "links.h"
#include "resolve.h"

/* The key of all hashes of this process. */
static SipKey key;

static PyObject *packed(const Urls *urls)
{
    return Py_BuildValue(
        "y#y#y#", urls->text ? urls->text : "", (Py_ssize_t)urls->size,
        urls->ends ? (const char *)urls->ends : "", (Py_ssize_t)(urls->count * sizeof *urls->ends),
        urls->flags ? (const char *)urls->flags : "", (Py_ssize_t)urls->count);
}

/* Resolve the references of `scan` against the base that the reader knows by now. */
static Status resolve(Urls *urls, const Scan *scan)
{
    PyObject *base = PyObject_CallMethod(scan->reader, "settle", NULL);
    if (!base)
        return FAILED;
    Status status = LEFT;
    if (base != Py_None) {
        Py_ssize_t size;
        const char *at = PyUnicode_AsUTF8AndSize(base, &size);
        status = at ? resolve_links(urls, scan, (Text){at, (size_t)size}) : FAILED;
    }
    Py_DECREF(base);
    return status;
}

static PyObject *scan_page(PyObject *Py_UNUSED(self), PyObject *arguments)
{
    const char *body;
    Py_ssize_t size;
    PyObject *known;
    Scan state = {.key = key};
    Urls urls = {0};
    int declared;
    if (!PyArg_ParseTuple(arguments, "y#sspO!O:scan", &body, &size, &state.agent, &state.host,
                          &declared, &PyList_Type, &known, &state.reader))
        return NULL;
    state.declared = declared;
    state.kept = PyList_New(0);
    Status status = state.kept ? add_known(&urls, known, key) : FAILED;
    if (status == DONE)
        status = read_links(&state, (Page){body, body + size, false});
    if (status == DONE)
        status = resolve(&urls, &state);
    PyObject *result = status == DONE ? packed(&urls) : status == LEFT ? Py_NewRef(Py_None) : NULL;
    Py_XDECREF(state.kept);
    free(state.references);
    distinct_free(&state.distinct);
    free(urls.text);
    free(urls.ends);
    free(urls.flags);
    distinct_free(&urls.distinct);
    return result;
}

static PyMethodDef methods[] = {
    {"scan", scan_page, METH_VARARGS, NULL},
    {"absent", table_absent, METH_VARARGS, NULL},
    {"add", table_add, METH_VARARGS, NULL},
    {"clear_registers", clear_registers, METH_NOARGS, NULL},
    {"hash_links", hash_links, METH_VARARGS, NULL},
    {"learn_links", learn_links, METH_VARARGS, NULL},
    {"move", table_move, METH_VARARGS, NULL},
    {"select_links", select_links, METH_VARARGS, NULL},
    {"unknown_links", unknown_links, METH_VARARGS, NULL},
    {"word_forms", word_forms, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* Take the key from os.urandom. */
static int make_key(PyObject *Py_UNUSED(module))
{
    PyObject *os = PyImport_ImportModule("os");
    PyObject *bytes = os ? PyObject_CallMethod(os, "urandom", "n", (Py_ssize_t)sizeof key) : NULL;
    const char *random = bytes ? PyBytes_AsString(bytes) : NULL;
    if (random)
        memcpy(&key, random, sizeof key);
    Py_XDECREF(bytes);
    Py_XDECREF(os);
    return random ? 0 : -1;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, make_key},
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "larbinpy.native._native",
    .m_doc = "Compiled versions of some functions of larbinpy.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
