#!/bin/sh
# Repeats the studies of the founding reports on this machine's GPU: their matrices, kernels, parameters and repetitions
# (docs/studies/NAME.json), then makes pages and pictures of what came, and one page of all (docs/results/studies).
#     sh docs/studies.sh [--small] [--matrices DIR] [--spmvx PROGRAM] [--peers MODULE] [-o DIR]
#         [--resume] [--pages] [NAME...]
# NAME           marconi, oniarti, frogbyte, baskaran or aub; all of them without one
# --small        matrices of some hundred entries: shows that the scripts work, and nothing else
# --matrices DIR the collection's files, by the reports' names; what is not there, or cannot be read, has a stand-in
# --spmvx        the tool (the one in PATH); --peers: the vendor's library as a module (docs/peers.md)
# -o DIR         where results go (docs/results/studies)
# --resume       goes on where a run was interrupted: parts that the results have, by the same words, are not run again
# --pages        the pages and pictures alone, from the results that are there
# Needs Python with matplotlib (Debian: python3-matplotlib). Counters are taken where there is ncu.
here=$(cd "$(dirname "$0")" && pwd)
exec "${PYTHON:-python3}" "$here/make-study.py" "$@"
