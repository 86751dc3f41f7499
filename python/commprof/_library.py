# SPDX-License-Identifier: GPL-2.0-or-later
"""libcommprof.so.0: where it is, what its functions say when they fail, and copies of what they give."""
import os
import pathlib
from collections.abc import Callable, Iterator
from ctypes import CDLL, POINTER, Array, Structure, byref, c_char_p, c_void_p, cast, sizeof
from typing import Any

from . import _abi, _data

SONAME = "libcommprof.so.0"


class CommprofError(Exception):
    """What the library says, a sentence for the user; errno says which error it is, as errno.ENOENT."""

    def __init__(self, errno: int, sentence: str) -> None:
        super().__init__(errno, sentence)
        self.errno = errno

    def __str__(self) -> str:
        return str(self.args[1])


def _load() -> CDLL:
    # Where make install-python puts this file, the library is in the same PREFIX, as for commctl.
    here = pathlib.Path(__file__).resolve().parents
    beside = here[3] / SONAME if len(here) > 3 and here[1].name == "dist-packages" else None
    try:
        found = CDLL(str(beside) if beside and beside.exists() else SONAME)
        for name, (result, parameters) in _abi.FUNCTIONS.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, parameters
    except OSError as error:
        raise ImportError(f"commprof needs {SONAME}, which the loader does not find; install commprof or "
                          f"libcommprof0, or set LD_LIBRARY_PATH ({error})") from None
    except AttributeError as error:
        raise ImportError(f"{SONAME} is older than this package: {error}") from None
    return found


functions = _load()
_free = CDLL(None).free
_free.argtypes, _free.restype = [c_void_p], None


def call(name: str, *arguments: Any) -> None:
    """Calls a function whose last parameter is err, which is added."""
    err = c_void_p()
    code = getattr(functions, name)(*arguments, byref(err))
    if not code:
        return
    said = text(cast(err, c_char_p).value) if err else os.strerror(-code)
    _free(err)
    raise CommprofError(-code, said)


def text(raw: bytes | None) -> str:
    """Any bytes: what is no UTF-8 is surrogates, which os.fsencode() makes bytes again."""
    return (raw or b"").decode("utf-8", "surrogateescape")


_TEXTS = {field[0] for field in _abi.comm_query._fields_ if field[1] is c_char_p}


def make_query(given: dict[str, Any]) -> _abi.comm_query:
    """TypeError, ValueError: a member does not exist, or cannot be what is given."""
    made = _abi.comm_query(size=sizeof(_abi.comm_query))
    for name, value in _data.query(**given).items():
        if value is None:
            continue
        if name in _TEXTS: # ctypes would take a number for an address
            if not isinstance(value, str):
                raise TypeError(f"{name} must be text, not {type(value).__name__}")
            value = value.encode("utf-8", "surrogateescape")
        setattr(made, name, value)
        if getattr(made, name) != value: # ctypes cuts numbers, and text ends at a NUL
            raise ValueError(f"{name} cannot be {value!r}")
    return made


def _no_change(value: Any) -> Any:
    return value


def _pointed(value: Any) -> Any:
    return copy(value.contents) if value else None


def _copier_of(ctype: Any, none: int | None) -> Callable[[Any], Any]:
    """How a member of this type is copied; pointers to pointers are the caller's."""
    if ctype is c_char_p or (issubclass(ctype, Array) and ctype._type_._type_ == "c"):
        return text
    if issubclass(ctype, Array):
        return tuple
    if issubclass(ctype, Structure):
        return copy
    if hasattr(ctype, "contents"):
        return _pointed
    return _no_change if none is None else lambda value: None if value == none else value


_plans: dict[type[Structure], list[tuple[str, Callable[[Any], Any] | None]]] = {}


def members(raw: Structure) -> Iterator[Any]:
    """Copies of what a struct has, in order; it may be freed then."""
    kind = type(raw)
    if kind not in _plans:
        _plans[kind] = [(name, None if ctype is POINTER(POINTER(kind)) else _copier_of(ctype, _data.NONE.get((kind, name))))
                        for name, ctype in ((field[0], field[1]) for field in kind._fields_)]
    for name, copier in _plans[kind]:
        value = getattr(raw, name)
        yield copier(value) if copier else tuple(copy(value[i].contents) for i in range(getattr(raw, "n_" + name)))


def copy(raw: Structure) -> Any:
    return _data.CLASSES[type(raw)](*members(raw))


def elements(function: str, of: Any, n: int = _abi.SIZE_MAX) -> tuple[Any, ...]:
    """The first n, one by one: they may be larger than this package knows."""
    found: list[Any] = []
    while len(found) < n and (element := getattr(functions, function)(of, len(found))):
        found.append(copy(element.contents))
    return tuple(found)


def new(kind: type[Structure]) -> Any:
    """A pointer, NULL, to what the library makes."""
    return POINTER(kind)()

