#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes _abi.py and _data.py of the package, of comm.h and version.h: generate.py FOLDER-OF-HEADERS FOLDER.

comm.h is simple C: after the preprocessor each struct, enum and function is one statement. Whatever this script does not
know it refuses, so that no declaration goes missing.
"""
import os
import re
import subprocess
import sys

NUMBERS = {"size_t": "c_size_t", "uint64_t": "c_uint64", "int64_t": "c_int64", "uint32_t": "c_uint32", "int": "c_int",
           "double": "c_double", "_Bool": "c_bool"}
PYTHON = {"c_double": "float", "c_bool": "bool"}
KEYWORDS = {"from"}
# Where comm.h says that a number means "none": None.
NONE = {("comm_report_census", "node"): "SIZE_MAX", ("comm_report_total", "around"): "SIZE_MAX",
        ("comm_report_cacheline", "offset"): "INT64_MIN"}
# Programs make these; the library does not give them.
MADE = {"comm_query", "comm_salvaged", "comm_interval"}

# Pointers that are never NULL.
SURE = {("comm_report", "run"), ("comm_report", "by")}

ABI = '''# SPDX-License-Identifier: GPL-2.0-or-later
"""What comm.h declares, for ctypes. Made by generate.py (make python)."""
from ctypes import (POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint32, c_uint64,
                    c_void_p)
from typing import Any

VERSION = "%s"
SIZE_MAX = c_size_t(-1).value
INT64_MIN = -(1 << 63)

'''
DATA = '''# SPDX-License-Identifier: GPL-2.0-or-later
"""A class for each struct that the library gives. Made by generate.py (make python).

comm.h says what each member means. Text that the library does not have is ""; a number that stands for "none" is None.
"""
from ctypes import Structure
from dataclasses import dataclass
from typing import Any

from . import _abi
'''


def class_name(struct):
    """comm_report_cacheline_use: CachelineUse; comm_report: ReportData, of which Report is made by hand."""
    name = "".join(part.capitalize() for part in re.sub(r"^comm_(report_)?", "", struct).split("_"))
    return "ReportData" if struct == "comm_report" else name


def list_name(one):
    """What the list of comm_report_ONE_at() is called."""
    return {"loss": "losses", "census": "census"}.get(one, one + "s")


class Member:
    """One of a struct's: its C type without const, stars, name and length."""

    def __init__(self, struct, text, constants):
        match = re.fullmatch(r"(?:(struct|enum) )?(\w+) (\**)(\w+)(?:\[(\w+)\])?", text)
        if not match:
            sys.exit(f"generate.py: {struct} has an unknown member: {text}")
        self.kind, self.type, stars, self.name, length = match.groups()
        self.none = NONE.get((struct, self.name))
        self.sure = (struct, self.name) in SURE
        self.length = constants.get(length, length)
        self.python_name = self.name + "_" * (self.name in KEYWORDS)
        if self.kind == "struct":
            self.ctype = "POINTER(" * len(stars) + self.type + ")" * len(stars)
        elif self.kind == "enum":
            self.ctype = "c_uint"
        elif self.type == "char":
            self.ctype = "c_char_p" if stars == "*" else "c_char"
        elif self.type in NUMBERS and not stars:
            self.ctype = NUMBERS[self.type]
        else:
            sys.exit(f"generate.py: {struct} has an unknown type: {text}")
        self.stars = len(stars)
        if self.length:
            self.ctype += f" * {self.length}"

    def annotation(self):
        if self.type == "char":
            return "str"
        if self.kind == "struct":
            name = class_name(self.type)
            return [name, name if self.sure else f"{name} | None", f"tuple[{name}, ...]"][self.stars]
        one = PYTHON.get(self.ctype.split(" ")[0], "int")
        return f"tuple[{one}, ...]" if self.length else one + " | None" * bool(self.none)


def argument(text):
    """The ctypes type of a parameter or result; its name, if any, is left out."""
    match = re.fullmatch(r"(?:(struct) )?(\w+) ?(\**)\w*", text)
    if not match:
        sys.exit(f"generate.py: unknown parameter: {text}")
    struct, name, stars = match.groups()
    if struct:
        return "POINTER(" * len(stars) + name + ")" * len(stars)
    # Text that the library makes is freed by its address.
    made = {"char*": "c_char_p", "char**": "POINTER(c_void_p)", "void": "None"}
    made |= NUMBERS | {name + "*": f"POINTER({ctype})" for name, ctype in NUMBERS.items()}
    return made.get(name + stars) or sys.exit(f"generate.py: unknown parameter: {text}")


def declarations(folder):
    """Of comm.h: structs as lists of members, constants, functions as (result, name, arguments)."""
    header = os.path.join(folder, "comm.h")
    own = subprocess.run(["gcc", "-E", "-x", "c", header], check=True, capture_output=True, text=True).stdout
    # What the system's headers declare is between lines that name them.
    lines, file = [], ""
    for line in own.split("\n"):
        if match := re.match(r'# \d+ "(.*?)"', line):
            file = match[1]
        elif file == header and not line.startswith("#"):
            lines.append(line)
    text = re.sub(r"\s+", " ", " ".join(lines)).replace("const ", "").replace(" const", "").replace("*const", "*")
    structs, constants, functions = {}, {}, []
    for statement in re.findall(r"\s*((?:[^;{]|\{[^}]*\})*);", text):
        if match := re.fullmatch(r"struct (\w+)(?: \{(.*)\})?", statement):
            members = []
            for member in (match[2] or "").split(";"):
                names = [part.strip() for part in member.split(",")]
                if names[0]:
                    before = names[0].rsplit(" ", 1)[0]
                    members += [Member(match[1], name, constants) for name in
                                [names[0], *(f"{before} {name}" for name in names[1:])]]
            structs[match[1]] = members
        elif match := re.fullmatch(r"enum (?:\w+ )?\{(.*)\}", statement):
            value = 0
            for name in filter(None, (part.strip() for part in match[1].split(","))):
                name, _, given = name.partition(" = ")
                constants[name] = value = int(given) if given else value
                value += 1
        elif match := re.fullmatch(r"(.*?[ *])(\w+)\((.*)\)", statement):
            parameters = [] if match[3] == "void" else match[3].split(", ")
            functions.append((argument(match[1].strip()), match[2], [argument(one) for one in parameters]))
        else:
            sys.exit(f"generate.py: unknown statement: {statement}")
    return structs, constants, functions


def quoted(annotation, name):
    """A class that names itself does so in quotes."""
    return f'"{annotation}"' if re.search(rf"\b{name}\b", annotation) else annotation


def write(folder, name, lines):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main():
    folder, to = sys.argv[1:]
    structs, constants, functions = declarations(folder)
    with open(os.path.join(folder, "version.h"), encoding="utf-8") as file:
        version = re.search(r'#define COMM_VERSION "(.*)"', file.read())[1]
    out = [(ABI % version).rstrip()]
    out += [f"{name} = {value}" for name, value in constants.items()]
    for struct, members in structs.items():
        fields = ["_fields_ = [", *(f'    ("{one.name}", {one.ctype}),' for one in members), "]"]
        out += ["", "", f"class {struct}(Structure):"]
        if not members:
            out += ['    """Opaque."""']
        elif any(one.type == struct for one in members):
            out += ["    pass", "", "", f"{struct}.{fields[0]}", *fields[1:]]
        else:
            out += ["    " + line for line in fields]

    out += ["", "", "# Results and parameters.", "FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {"]
    out += [f'    "{name}": ({result}, [{", ".join(arguments)}]),' for result, name, arguments in functions] + ["}"]

    write(to, "_abi.py", out)

    out = [DATA.rstrip()]
    # Each list of a report has a function comm_report_NAME_at().
    lists = []
    for _, name, _ in functions:
        if match := re.fullmatch(r"comm_report_(\w+)_at", name):
            struct = "comm_node" if match[1] == "node" else "comm_report_" + match[1]
            lists.append((list_name(match[1]), name, struct))
    given = {struct: members for struct, members in structs.items() if members and struct not in MADE}
    for struct, members in given.items():
        name = class_name(struct)
        annotations = [(one.python_name, one.annotation()) for one in members]
        said = f"struct {struct}"
        if struct == "comm_report":
            annotations += [(plural, f"tuple[{class_name(element)}, ...]") for plural, _, element in lists]
            said += ", and what its functions give; edges are those that are shown."
        out += ["", "", "@dataclass(frozen=True, slots=True)", f"class {name}:", f'    """{said}"""']
        out += [f"    {member}: {quoted(annotation, name)}" for member, annotation in annotations]
    out += ["", "", "CLASSES: dict[type[Structure], type[Any]] = {"]
    out += [f"    _abi.{struct}: {class_name(struct)}," for struct in given] + ["}"]
    out += ["# The number that stands for none.", "NONE: dict[tuple[type[Structure], str], int] = {"]
    out += [f'    (_abi.{struct}, "{member}"): _abi.{none},' for (struct, member), none in NONE.items()] + ["}"]
    out += ["# The lists of a report, and the functions that give their elements.", "LISTS = {"]
    out += [f'    "{plural}": "{function}",' for plural, function, _ in lists] + ["}"]

    out += ["", "", "def query(", "    *,"]
    defaults = {"str": "str | None = None", "int": "int = 0", "float": "float = 0.0", "bool": "bool = False"}
    out += [f"    {one.python_name}: {defaults[one.annotation()]}," for one in structs["comm_query"] if one.name != "size"]
    out += [") -> dict[str, Any]:", '    """The members of struct comm_query, which it names and types."""', "    return locals()"]
    write(to, "_data.py", out)


main()
