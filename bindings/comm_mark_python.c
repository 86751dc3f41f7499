/* SPDX-License-Identifier: MIT */
/*
 * Marks of a Python program, for commprof (docs/guide/marks.md): the module comm_mark.
 *
 *	cc -O2 -shared -fPIC $(python3-config --includes) comm_mark_python.c -o comm_mark.so
 *
 *	from comm_mark import region, start, stop
 *	parse = region("parse")		# once, and used as often as one likes
 *	with parse:
 *		...
 *
 * Of generators and coroutines a region may end while others have begun: mark what does not
 * give the thread away.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <comm/mark.h>

enum { BEGUN_MAX = 64 }; /* regions inside each other; deeper ones end with the one around them */

struct region {
	PyObject_HEAD PyObject *name; /* never given back: its text is read by others */
	const char *text;
};

/* How deep the thread was before each of its regions that has not ended yet. */
static __thread uint64_t begun[BEGUN_MAX];
static __thread size_t n_begun;

static PyObject *region_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	static char *names[] = {"name", NULL};
	struct region *self;
	PyObject *name;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "U", names, &name))
		return NULL;
	self = (struct region *)type->tp_alloc(type, 0);
	if (!self)
		return NULL;
	/* One object for equal names, so what stays for ever is bounded by the number of names. */
	Py_INCREF(name);
	PyUnicode_InternInPlace(&name);
	self->name = name;
	self->text = PyUnicode_AsUTF8(name);
	if (!self->text) {
		Py_DECREF(self);
		return NULL;
	}
	return (PyObject *)self;
}

static PyObject *region_enter(PyObject *self, PyObject *unused)
{
	struct comm_mark mark = comm_mark_begin(((struct region *)self)->text);

	(void)unused;
	if (n_begun < BEGUN_MAX)
		begun[n_begun] = mark.depth;
	n_begun++;
	Py_INCREF(self);
	return self;
}

static PyObject *region_exit(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	(void)self, (void)args, (void)n;
	if (n_begun && --n_begun < BEGUN_MAX)
		comm_mark_end((struct comm_mark){begun[n_begun]});
	Py_RETURN_NONE; /* an exception goes on */
}

static PyMethodDef region_methods[] = {
	{"__enter__", region_enter, METH_NOARGS, NULL},
	{"__exit__", (PyCFunction)(void (*)(void))region_exit, METH_FASTCALL, NULL},
	{0},
};

static PyTypeObject region_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "comm_mark.region",
	.tp_doc = "A region of a thread: with region(name): ...",
	.tp_basicsize = sizeof(struct region),
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_new = region_new,
	.tp_methods = region_methods,
};

static PyObject *stop(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	COMM_STOP();
	Py_RETURN_NONE;
}

static PyObject *start(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	COMM_START();
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"stop", stop, METH_NOARGS, "Nothing of the process is sampled until start()."},
	{"start", start, METH_NOARGS, NULL},
	{0},
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "comm_mark",
	.m_size = -1,
	.m_methods = functions,
};

PyMODINIT_FUNC PyInit_comm_mark(void)
{
	PyObject *self = PyModule_Create(&module);

	if (!self || PyType_Ready(&region_type) < 0)
		return NULL;
	Py_INCREF(&region_type);
	if (PyModule_AddObject(self, "region", (PyObject *)&region_type) < 0)
		return NULL;
	return self;
}
