#!/bin/sh
# The progress bar and --quiet, on a pseudo-terminal: progress.sh SPMVX
# The matrix comes through a pipe that stands still for longer than the bar takes to show, so that nothing depends on speed.
command -v python3 >/dev/null || exit 77
exec python3 - "$1" <<'PYTHON'
import os, pty, subprocess, sys, tempfile, threading, time

spmvx, bad = sys.argv[1], 0
try:
    for end in pty.openpty():
        os.close(end)
except OSError:
    sys.exit(77)    # a system without pseudo-terminals
rows = 600000   # some MB: the library looks at its callback once a block
text = b'%%MatrixMarket matrix coordinate pattern general\n' + b'%d 1 %d\n' % (rows, rows) + b''.join(b'%d 1\n' % (i + 1) for i in range(rows))
text = text.replace(b' 1\n', b'              1\n')


def feed(path, wait):
    with open(path, 'wb') as f:
        f.write(text[:-100])
        f.flush()
        time.sleep(wait)
        f.write(text[-100:])


def run(arguments, terminal, wait):
    """Exit status, stderr and seconds of the tool, reading a pipe, with stderr a terminal or not."""
    with tempfile.TemporaryDirectory() as folder:
        fifo, seen = os.path.join(folder, 'm.mtx'), b''
        os.mkfifo(fifo)
        feeder = threading.Thread(target=feed, args=(fifo, wait), daemon=True)
        feeder.start()
        reader, writer = pty.openpty() if terminal else os.pipe()
        begin = time.monotonic()
        child = subprocess.Popen([spmvx, *arguments, fifo], stdout=subprocess.PIPE, stderr=writer, stdin=subprocess.DEVNULL)
        os.close(writer)
        while True:
            try:
                got = os.read(reader, 4096)
            except OSError:   # what a terminal gives when the other side is closed
                break
            if not got:
                break
            seen += got
        out = child.communicate()[0]
        took = time.monotonic() - begin
        os.close(reader)
        feeder.join(60)
        return child.returncode, out, seen, took


def require(what, ok, got):
    global bad
    if not ok:
        print(what, 'does not hold:', got)
        bad = 1


def screen(seen):
    """What a line of a terminal shows in the end."""
    line, at = {}, 0
    for c in seen.decode():
        if c == '\r':
            at = 0
        else:
            line[at] = c
            at += 1
    return ''.join(line[i] for i in sorted(line)).strip()


for command in (['info'], ['check']):
    status, out, seen, _ = run(command, True, 0.7)
    require('a bar shows', status == 0 and b'm.mtx ' in seen and b' MB' in seen, (status, seen))
    require('the bar is wiped away', screen(seen) == '', seen)
    require('no bar in the results', out and b'\r' not in out, out)
    status, out, seen, _ = run(command + ['--quiet'], True, 0.7)
    require('--quiet: no bar', status == 0 and seen == b'', (status, seen))
    status, out, seen, _ = run(command, False, 0.7)
    require('no terminal: no bar', status == 0 and seen == b'', (status, seen))
    status, out, seen, took = run(command, True, 0)
    require('no bar within half a second', status == 0 and (took >= 0.5 or seen == b''), (status, seen, took))


def write(arguments, terminal, wait):
    """The same for a matrix that is written to a pipe, which nobody reads for a while."""
    with tempfile.TemporaryDirectory() as folder:
        source, fifo, seen = os.path.join(folder, 'm.mtx'), os.path.join(folder, 'out.mtx'), b''
        with open(source, 'wb') as f:
            f.write(text)
        os.mkfifo(fifo)

        def drain():
            with open(fifo, 'rb') as f:
                time.sleep(wait)
                while f.read(1 << 20):
                    pass
        drainer = threading.Thread(target=drain, daemon=True)
        drainer.start()
        reader, writer = pty.openpty() if terminal else os.pipe()
        child = subprocess.Popen([spmvx, 'convert', *arguments, source, fifo], stdout=subprocess.PIPE, stderr=writer, stdin=subprocess.DEVNULL)
        os.close(writer)
        while True:
            try:
                got = os.read(reader, 4096)
            except OSError:
                break
            if not got:
                break
            seen += got
        child.communicate()
        os.close(reader)
        drainer.join(60)
        return child.returncode, seen


status, seen = write([], True, 0.7)
require('a bar shows while writing', status == 0 and b'out.mtx ' in seen and b' M entries' in seen, (status, seen))
require('the bar is wiped away', screen(seen) == '', seen)
for arguments, terminal in ((['--quiet'], True), ([], False)):
    status, seen = write(arguments, terminal, 0.7)
    require('no bar while writing', status == 0 and seen == b'', (status, seen))
sys.exit(bad)
PYTHON
