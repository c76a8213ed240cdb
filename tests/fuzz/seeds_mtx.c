/* Seeds of Matrix Market files. */
#include "drive.h"

#include <string.h>

#define BANNER "%%MatrixMarket matrix coordinate "

static const char *const texts[] = {
    "",
    BANNER "real general\n3 3 4\n1 1 1.0\n2 2 -2.5e3\n3 1 .5\n1 3 1e-320\n",
    BANNER "real general\r\n% comment\r\n\r\n2 5 3\r\n1 5 inf\r\n2 1 nan\r\n1 5 -0\r\n",
    BANNER "integer general\n2 2 3\n1 1 +7\n1 1 7\n2 1 -12345678901234567890\n",
    BANNER "pattern symmetric\n4 4 5\n1 1\n2 1\n3 2\n4 4\n4 1\n",
    BANNER "real symmetric\n5 5 6\n1 1 2\n2 2 2\n3 3 2\n2 1 -1\n3 2 -1\n5 1 9\n",
    BANNER "real skew-symmetric\n3 3 2\n2 1 1D2\n3 1 -2d-2\n",
    BANNER "integer skew-symmetric\n2 2 1\n2 1 0\n",
    BANNER "double general\n1 1 1\n1 1 1.7976931348623157e308\n",
    BANNER "real general\n0 0 0\n",
    BANNER "real general\n6000 6000 2\n6000 1 1\n1 6000 2\n",
    BANNER "real general\n2000000000 2000000000 1\n7 8 9\n",
    BANNER "real general\n2147483647 1 1000000000000000\n7 1 9\n",
    BANNER "pattern general\n1 2147483647 3\n1 1\n1 2147483647\n1 5",
    BANNER "complex hermitian\n1 1 1\n1 1 1 0\n",
    "%%MatrixMarket matrix array real general\n2 1\n1\n2\n",
    BANNER
    "real general\n1 1 2\n1 1 2.2250738585072011360574097967091319759348195463516456480234261097248e-308\n"
    "1 1 0.000000000000000000000000000000001e33\n",
};

const char *const pieces[] = {
    "0",
    "-1",
    "1",
    "2147483647",
    "2147483648",
    "4294967297",
    "9223372036854775807",
    "9223372036854775808",
    "1e308",
    "1e400",
    "-1e-400",
    "nan",
    "-inf",
    "infinity",
    ".",
    "e",
    "e+",
    "0x1",
    "%",
    "\n",
    "\r\n",
    "\n\n",
    " ",
    "\t",
    "\v",
    "1 1 1\n",
    "1 1\n",
    "symmetric",
    "skew-symmetric",
    "pattern",
    "integer",
    "complex",
    "array",
    "\x1f\x8b",
    "\x28\xb5\x2f\xfd",
    "\xfd\67zXZ",
    "100000",
    "99999999999999999999999999999999999999",
};
const int piece_count = sizeof pieces / sizeof *pieces;

void make_seeds(void)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) add_seed(texts[i], strlen(texts[i]));
    add_gzip_seed(texts[1]);
    add_gzip_seed(texts[5]);
    add_written_seed(".mtx");
    add_written_seed(".gz");
    add_written_seed(".zst");
    add_written_seed(".xz");
}
