#!/usr/bin/env python3
"""Draws where matrices have their nonzeros, in pairs: an original, or its nearest relative at hand, and what stands for it.

    make-patterns.py SPMVX -o PICTURE ORIGINAL=STAND-IN ... STAND-IN ...

Each is a file or a generator's name. A cell is as dark as the logarithm of how many nonzeros
are in it. Needs NumPy, SciPy and matplotlib."""
import argparse
import importlib.util
import pathlib
import re
import subprocess
import tempfile

import numpy
import scipy.io

spec = importlib.util.spec_from_file_location("results", pathlib.Path(__file__).parent / "make-results.py")
results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(results)

CELLS, SHADES = 56, 4


def pattern(spmvx, what):
    """Rows and columns of the nonzeros, and the shape."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "matrix.mtx"
        subprocess.run([spmvx, *(["convert"] if pathlib.Path(what).is_file() else ["generate"]), "-q", what, "-o", str(file)], check=True)
        m = scipy.io.mmread(file).tocoo()
    return m.row, m.col, m.shape


def draw(axes, row, col, shape):
    """A path a shade, of the runs of cells that have it."""
    down, across = (min(CELLS, n) for n in shape)
    count = numpy.histogram2d(row, col, bins=(down, across), range=((0, shape[0]), (0, shape[1])))[0]
    most = numpy.log1p(count.max())
    shade = numpy.where(count > 0, numpy.minimum(SHADES, 1 + (SHADES * numpy.log1p(count) / most).astype(int)), 0)
    plt, Path = results.plt, results.matplotlib.path.Path
    for s in range(1, SHADES + 1):
        corners, codes = [], []
        for i in range(down):
            cells = numpy.flatnonzero(numpy.diff(numpy.concatenate(([0], shade[i] == s, [0]))))
            for a, b in zip(cells[::2] / across, cells[1::2] / across):
                corners += [(a, i / down), (b, i / down), (b, (i + 1) / down), (a, (i + 1) / down)]
                codes += [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO]
        if corners:
            axes.add_patch(results.matplotlib.patches.PathPatch(Path(corners, codes), facecolor=results.COLOURS["SELL"], alpha=0.15 + 0.85 * s / SHADES, linewidth=0))
    axes.set_xlim(0, 1)
    axes.set_ylim(1, 0)
    axes.set_box_aspect(min(1.0, max(0.25, shape[0] / shape[1])) if shape[0] <= shape[1] else 1.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spmvx")
    parser.add_argument("pairs", nargs="+", metavar="[ORIGINAL=]STAND-IN")
    parser.add_argument("-o", dest="out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    results.settle()
    import matplotlib.patches
    import matplotlib.path
    across, given = 4, [p.split("=", 1) for p in args.pairs]
    rows = [[p[below] for p in some[k:k + across]] for n in (2, 1) for some in [[p for p in given if len(p) == n]] for k in range(0, len(some), across) for below in range(n)]
    figure, axes = results.plt.subplots(len(rows), across, figsize=(10, 2.6 * len(rows)), squeeze=False, layout="constrained")
    for each in axes.flat:
        each.set_axis_off()
    for i, names in enumerate(rows):
        for each, what in zip(axes[i], names):
            row, col, shape = pattern(args.spmvx, what)
            each.set_axis_on()
            each.set_xticks([])
            each.set_yticks([])
            for side in each.spines.values():
                side.set_visible(True)
            draw(each, row, col, shape)
            name = re.sub(r"\.(mtx|rb)(\.gz|\.xz)?$", "", pathlib.Path(what).name)
            each.set_title(f"{name}{', of the collection' if pathlib.Path(what).is_file() else ''}\n{shape[0]} x {shape[1]}, {len(row)}", fontsize=7)
    results.save(figure, args.out)
    args.out.write_text(re.sub(r"(\d\.\d)\d+", r"\1", args.out.read_text()))   # a tenth of a point is fine enough


main()
