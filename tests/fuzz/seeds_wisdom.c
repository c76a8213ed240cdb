/* Seeds of wisdom: what stands behind a key, a line of advice each. */
#include "drive.h"

#include <string.h>

static const char *const texts[] = {
    "csr-scalar",
    "csr-vector@avx2",
    "csr-merge-path:chunk=4096",
    "csr-nnz-split",
    "coo-scalar",
    "csc-scalar",
    "ell",
    "hyb",
    "dia@c",
    "sell slice=8 sigma=1",
    "sell@c slice=64 sigma=4096",
    "bsr block_rows=2 block_cols=3",
    "bsr@avx512 block_rows=16 block_cols=16",
    "csr5:omega=8,sigma=4",
    "csr5",
    "tiled:width=16384",
    "tiled:width=64",
    "packed slice=32 sigma=1",
    "packed@c slice=8 sigma=1",
    "csr-scalar\nother -> ell\nmachine memory=1 more=0 cache=1 near=1 mid=1 cached=1 compute=1 far=1",
};

const char *const pieces[] = {
    "slice=",
    "sigma=",
    "block_rows=",
    "block_cols=",
    "width=",
    "omega=",
    "chunk=",
    ":",
    ",",
    " ",
    "=",
    "@c",
    "@",
    "@avx2",
    "@avx512",
    "-1",
    "0",
    "1",
    "3",
    "7",
    "16",
    "32",
    "33",
    "65535",
    "65536",
    "2147483647",
    "4294967296",
    "9223372036854775807",
    "99999999999999999999",
    "-9223372036854775808",
    "csr5",
    "tiled",
    "packed",
    "sell",
    "bsr",
    "dia",
    "ell",
    "hyb",
    "csc-scalar",
    "csr-",
    " -> ",
    "\n",
    "\nmachine memory=",
    "machine",
};
const int piece_count = sizeof pieces / sizeof *pieces;

void make_seeds(void)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) add_seed(texts[i], strlen(texts[i]));
}
