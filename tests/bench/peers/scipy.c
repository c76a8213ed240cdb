/* SciPy's csr_matrix over the caller's arrays, by an embedded Python: y = A @ x, which makes a new y each
 * time, so that y is the peer's own (peer.h, vectors); C = A @ B. SciPy's kernels run on one thread.
 *
 * Between calls the interpreter's lock is free. Python's extension modules look for its symbols in the
 * global scope, where a module's dependencies are not: start puts libpython there. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

/* make refuses a matrix that SciPy copied: the arrays that it multiplies with are to be the caller's. */
static const char source[] =
    "import numpy, scipy\n"
    "from scipy.sparse import csr_matrix\n"
    "version = scipy.__version__\n"
    "def array(view, kind):\n"
    "    return numpy.frombuffer(view, kind) if len(view) else numpy.empty(0, kind)\n"
    "def make(nrows, ncols, ptr, col, val, kind):\n"
    "    parts = array(val, kind), array(col, 'i4'), array(ptr, 'i4')\n"
    "    A = csr_matrix(parts, shape=(nrows, ncols), copy=False)\n"
    "    for mine, theirs in zip(parts, (A.data, A.indices, A.indptr)):\n"
    "        if len(mine) and mine.ctypes.data != theirs.ctypes.data: raise RuntimeError('SciPy copied an "
    "array')\n"
    "    return A\n"
    "def zeros(n, kind):\n"
    "    return numpy.zeros(n, kind)\n"
    "def mul(A, alpha, x, beta, y):\n"
    "    r = A @ x\n"
    "    if alpha != 1: r *= alpha\n"
    "    if beta != 0: r += beta * y\n"
    "    return r\n"
    "def product(A, B):\n"
    "    return A @ B\n"
    "def parts(C):\n"
    "    return C.indptr, C.indices, C.data, C.indptr.itemsize, C.indices.itemsize, C.nnz\n";

static PyObject *names; /* of the source above */
static PyThreadState *main_thread;
static char version[32];

/* A NumPy array and where its values lie. */
typedef struct array {
    PyObject *object;
    void *data;
} array;

typedef struct matrix {
    PyObject *A;
    array x, y;
    int32_t *own;
    peer_matrix m;
} matrix;

typedef struct product {
    matrix A, B;
    PyObject *C, *parts;
} product;

/* Python's exception as the error. */
static int failed(peer_error *e)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *s = text ? PyUnicode_AsUTF8(text) : NULL;
    peer_fail(e, PEER_FAILED, "Python: %s", s ? s : "an exception");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    PyErr_Clear();
    return PEER_FAILED;
}

/* Calls a name of the source; the format makes a tuple of arguments. NULL with an exception. */
static PyObject *call(const char *name, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    PyObject *args = Py_VaBuildValue(format, list), *f = PyDict_GetItemString(names, name);
    va_end(list);
    PyObject *r = args && f ? PyObject_CallObject(f, args) : NULL;
    Py_XDECREF(args);
    return r;
}

static const char *kind_of(const peer_matrix *m)
{
    return m->val_bits == 64 ? "f8" : "f4";
}

/* Where an array's values lie; NULL with an exception. */
static void *data_of(PyObject *object)
{
    Py_buffer b;
    if (!object || PyObject_GetBuffer(object, &b, PyBUF_SIMPLE) != 0) return NULL;
    PyBuffer_Release(&b);
    return b.buf;
}

/* Takes the reference in place of the old one. */
static int array_set(array *a, PyObject *object, peer_error *e)
{
    void *data = data_of(object);
    if (!data) {
        Py_XDECREF(object);
        return failed(e);
    }
    Py_XDECREF(a->object);
    *a = (array){ object, data };
    return PEER_OK;
}

static PyObject *view(const void *p, int64_t bytes)
{
    return PyMemoryView_FromMemory((char *)(uintptr_t)p, (Py_ssize_t)bytes, PyBUF_READ);
}

static void matrix_free(matrix *h)
{
    Py_CLEAR(h->A);
    Py_CLEAR(h->x.object);
    Py_CLEAR(h->y.object);
    free(h->own);
}

static int matrix_make(matrix *h, const peer_matrix *A, peer_error *e)
{
    const int result = peer_narrow(A, &h->m, &h->own, e);
    if (result) return result;
    const peer_matrix *m = &h->m;
    h->A =
        call("make", "(LLNNNs)", (long long)m->nrows, (long long)m->ncols, view(m->ptr, (m->nrows + 1) * 4),
             view(m->col, m->nnz * 4), view(m->val, m->nnz * m->val_bits / 8), kind_of(m));
    return h->A ? PEER_OK : failed(e);
}

static int vectors_make(matrix *h, peer_error *e)
{
    const int result = array_set(&h->x, call("zeros", "(Ls)", (long long)h->m.ncols, kind_of(&h->m)), e);
    return result ? result
                  : array_set(&h->y, call("zeros", "(Ls)", (long long)h->m.nrows, kind_of(&h->m)), e);
}

static void close_matrix(void *handle)
{
    const PyGILState_STATE lock = PyGILState_Ensure();
    matrix_free(handle);
    PyGILState_Release(lock);
    free(handle);
}

static int open_matrix(const peer_method *method, const peer_matrix *A, void **handle, peer_error *e)
{
    (void)method;
    matrix *h = calloc(1, sizeof *h);
    if (!h) return peer_fail(e, PEER_FAILED, "out of memory");
    const PyGILState_STATE lock = PyGILState_Ensure();
    int result = matrix_make(h, A, e);
    if (!result) result = vectors_make(h, e);
    PyGILState_Release(lock);
    if (!result) {
        *handle = h;
        return PEER_OK;
    }
    close_matrix(h);
    return result;
}

/* The caller's x is seen in place; his y is copied from, where beta is not 0. */
static int multiply(matrix *h, double alpha, const void *x, double beta, const void *y, peer_error *e)
{
    const int64_t bytes = h->m.val_bits / 8;
    PyObject *of_x = h->x.object;
    Py_INCREF(of_x);
    if (x) {
        Py_DECREF(of_x);
        of_x = call("array", "(Ns)", view(x, h->m.ncols * bytes), kind_of(&h->m));
        if (!of_x) return failed(e);
    }
    if (y && beta != 0) memcpy(h->y.data, y, (size_t)(h->m.nrows * bytes));
    PyObject *result = call("mul", "(OdOdO)", h->A, alpha, of_x, beta, h->y.object);
    Py_DECREF(of_x);
    return result ? array_set(&h->y, result, e) : failed(e);
}

static int mul(void *handle, double alpha, const void *x, double beta, void *y, peer_error *e)
{
    matrix *h = handle;
    const PyGILState_STATE lock = PyGILState_Ensure();
    const int result = multiply(h, alpha, x, beta, y, e);
    PyGILState_Release(lock);
    if (!result && y) memcpy(y, h->y.data, (size_t)(h->m.nrows * h->m.val_bits / 8));
    return result;
}

static int vectors(void *handle, void **x, void **y, peer_error *e)
{
    (void)e;
    const matrix *h = handle;
    *x = h->x.data;
    *y = h->y.data;
    return PEER_OK;
}

static size_t bytes(void *handle)
{
    return peer_csr_bytes(&((const matrix *)handle)->m);
}

/* ---- A B ---- */

static void close_product(void *handle)
{
    product *h = handle;
    const PyGILState_STATE lock = PyGILState_Ensure();
    Py_CLEAR(h->parts);
    Py_CLEAR(h->C);
    matrix_free(&h->A);
    matrix_free(&h->B);
    PyGILState_Release(lock);
    free(h);
}

static int open_product(const peer_product *method, const peer_matrix *A, const peer_matrix *B, void **handle,
                        peer_error *e)
{
    (void)method;
    product *h = calloc(1, sizeof *h);
    if (!h) return peer_fail(e, PEER_FAILED, "out of memory");
    const PyGILState_STATE lock = PyGILState_Ensure();
    int result = matrix_make(&h->A, A, e);
    if (!result) result = matrix_make(&h->B, B, e);
    PyGILState_Release(lock);
    if (!result) {
        *handle = h;
        return PEER_OK;
    }
    close_product(h);
    return result;
}

static int mul_product(void *handle, peer_error *e)
{
    product *h = handle;
    const PyGILState_STATE lock = PyGILState_Ensure();
    Py_CLEAR(h->parts);
    Py_CLEAR(h->C);
    h->C = call("product", "(OO)", h->A.A, h->B.A);
    const int result = h->C ? PEER_OK : failed(e);
    PyGILState_Release(lock);
    return result;
}

/* With the lock held. */
static int result_locked(product *h, peer_matrix *C, peer_error *e)
{
    int ptr_bytes, col_bytes;
    long long nnz;
    PyObject *ptr, *col, *val;
    Py_CLEAR(h->parts);
    h->parts = call("parts", "(O)", h->C);
    if (!h->parts || !PyArg_ParseTuple(h->parts, "OOOiiL", &ptr, &col, &val, &ptr_bytes, &col_bytes, &nnz))
        return failed(e);
    if (col_bytes != 4)
        return peer_fail(e, PEER_UNSUPPORTED, "SciPy's product has columns of %d bytes", col_bytes);
    *C = (peer_matrix){ .nrows = h->A.m.nrows,
                        .ncols = h->B.m.ncols,
                        .nnz = nnz,
                        .ptr = data_of(ptr),
                        .ptr_bits = 8 * ptr_bytes,
                        .col = data_of(col),
                        .val = data_of(val),
                        .val_bits = h->A.m.val_bits };
    return PyErr_Occurred() ? failed(e) : PEER_OK;
}

static int result_of_product(void *handle, peer_matrix *C, peer_error *e)
{
    const PyGILState_STATE lock = PyGILState_Ensure();
    const int result = result_locked(handle, C, e);
    PyGILState_Release(lock);
    return result;
}

/* ---- the interpreter ---- */

/* PYTHON: the interpreter that libpython belongs to, which says where its modules are; the first one on
 * PATH may be another. */
static int start_interpreter(peer_error *e)
{
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    PyStatus s = PyConfig_SetBytesString(&config, &config.program_name, PYTHON);
    if (!PyStatus_Exception(s)) s = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    return PyStatus_Exception(s)
               ? peer_fail(e, PEER_FAILED, "Python: %s", s.err_msg ? s.err_msg : "does not start")
               : PEER_OK;
}

static int run_source(peer_error *e)
{
    names = PyDict_New();
    if (!names || PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) != 0) return failed(e);
    PyObject *ran = PyRun_String(source, Py_file_input, names, names);
    if (!ran) {
        failed(e);
        return PEER_UNSUPPORTED; /* no SciPy */
    }
    Py_DECREF(ran);
    const char *v = PyUnicode_AsUTF8(PyDict_GetItemString(names, "version"));
    snprintf(version, sizeof version, "%s", v ? v : "");
    return PEER_OK;
}

static int start(peer_error *e)
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&Py_IsInitialized, &info) ||
        !dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD))
        return peer_fail(e, PEER_FAILED, "libpython is not there to be made global");
    int result = start_interpreter(e);
    if (result) return result;
    result = run_source(e);
    main_thread = PyEval_SaveThread();
    return result;
}

static void finish(void)
{
    PyEval_RestoreThread(main_thread);
    Py_CLEAR(names);
    Py_FinalizeEx();
}

static const peer_method methods[] = {
    { .name = "scipy",
      .summary = "csr_matrix @ x",
      .threads = 1,
      .open = open_matrix,
      .mul = mul,
      .vectors = vectors,
      .bytes = bytes,
      .close = close_matrix },
};
static const peer_product products[] = {
    { .name = "scipy",
      .summary = "csr_matrix @ csr_matrix",
      .threads = 1,
      .open = open_product,
      .mul = mul_product,
      .result = result_of_product,
      .close = close_product },
};
static const peer_library library = {
    .interface_version = PEER_INTERFACE,
    .name = "SciPy",
    .version = version,
    .count = 1,
    .methods = methods,
    .product_count = 1,
    .products = products,
    .start = start,
    .finish = finish,
};

const peer_library *spmvx_peer(void)
{
    return &library;
}
