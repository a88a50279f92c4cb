/* The vector registers, which some libraries leave in a state that slows other code down. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "functions.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

__attribute__((target("avx"))) static void clear_upper_halves(void)
{
    _mm256_zeroupper();
}

PyObject *clear_registers(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arguments))
{
    if (__builtin_cpu_supports("avx"))
        clear_upper_halves();
    Py_RETURN_NONE;
}
#else
PyObject *clear_registers(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(arguments))
{
    Py_RETURN_NONE;
}
#endif
