"""packaging.py SOURCE: the recipes of docs/packaging keep up with the build: their files parse, and versions, options, features,
licence and files are those of this tree."""

import ast
import json
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
recipes = root / "docs" / "packaging"
wrong = []


def expect(holds, message):
    if not holds:
        wrong.append(message)


numbers = re.findall(r"#define SPMVX_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (root / "include/spmvx/version.h").read_text())
version = ".".join(numbers)
kinds = dict(re.findall(r"option\('(\w+)', type: '(\w+)'", (root / "meson_options.txt").read_text()))
meson_itself = {"default_library", "buildtype"}


def expect_options(where, text):
    """Every -Dname=value is an option that takes the value."""
    for name, value in re.findall(r"-D(\w+)=(\w+)", text):
        if name in meson_itself:
            continue
        expect(name in kinds, f"{where}: no option {name}")
        allowed = {"feature": {"enabled", "disabled", "auto"}, "boolean": {"true", "false"}}.get(kinds.get(name))
        expect(allowed is None or value in allowed, f"{where}: -D{name}={value}")


spack = (recipes / "spack/packages/spmvx/package.py").read_text()
tree = ast.parse(spack)
classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
expect([c.name for c in classes] == ["Spmvx"], "spack: not one class Spmvx")
calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
variants = {c.args[0].value for c in calls if getattr(c.func, "id", "") == "variant"} | {"cuda"}
expect(variants <= set(kinds), f"spack: variants that are no options: {variants - set(kinds)}")
for call in calls:
    if getattr(call.func, "attr", "") == "feature" and isinstance(call.args[0], ast.Constant):
        expect(kinds.get(call.args[0].value) == "feature", f"spack: {call.args[0].value} is no feature")
        expect(call.args[1].value in variants, f"spack: no variant {call.args[1].value}")
for name in re.findall(r"-D(\w+)=", spack):
    expect(name in kinds, f"spack: no option {name}")

conda = (recipes / "conda/meta.yaml").read_text()
expect(f'{{% set version = "{version}" %}}' in conda, f"conda: the version is not {version}")
expect_options("conda", conda)
expect("\t" not in conda, "conda: a tab")
path = re.search(r"^  path: (\S+)$", conda, re.M)
expect(path and (recipes / "conda" / path[1]).resolve() == root.resolve(), "conda: path is not this tree")
files = re.search(r"^  source_files:\n((?:    - .*\n)+)", conda, re.M)
for name in re.findall(r"- (\S+)", files[1] if files else "- source_files"):
    expect((root / name).exists(), f"conda: no {name}")
expect("license_file: LICENSE" in conda and (root / "LICENSE").exists(), "conda: no licence")

port = recipes / "vcpkg/spmvx"
manifest = json.loads((port / "vcpkg.json").read_text())
portfile = (port / "portfile.cmake").read_text()
expect(manifest["version"] == version, f"vcpkg: the version is not {version}")
expect(set(manifest["features"]) <= set(kinds), "vcpkg: features that are no options")
expect(set(manifest["default-features"]) <= set(manifest["features"]), "vcpkg: default features")
loop = re.search(r"foreach\(name IN ITEMS ([\w ]+)\)", portfile)[1].split()
expect(set(loop) | {"tool"} == set(manifest["features"]), f"vcpkg: the port sets {loop}")
expect(all(kinds.get(name) == "feature" for name in loop), "vcpkg: what the port sets is no feature")
expect_options("vcpkg", portfile)
up = re.search(r"SOURCE_PATH \"\$\{CURRENT_PORT_DIR\}/([./]+)\"", portfile)
expect(up and (port / up[1]).resolve() == root.resolve(), "vcpkg: SOURCE_PATH is not this tree")
config = (root / "lib/cmake/spmvxConfig.cmake.in").read_text()
expect(config.count("/../../..") == 1, "vcpkg: what the port replaces in spmvxConfig.cmake is not there once")

for line in wrong:
    print(line)
sys.exit(1 if wrong else 0)
