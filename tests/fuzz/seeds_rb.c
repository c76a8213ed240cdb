/* Seeds of Rutherford-Boeing files. */
#include "drive.h"

#include <string.h>

#define TITLE "title                                                                   key\n"

static const char *const texts[] = {
    TITLE "3 1 1 1\nrua 3 3 4 0\n(16I5)          (16I5)          (4E8.1)             \n    1    3    4    "
          "5\n    1    3    2    1\n"
          " 1.0E+00 4.0E+00 2.0E+00 3.0E+00\n",
    TITLE "6 1 1 4\nrra 12 2 4 0\n(3I1) (26I2) (1P,1D9.2)\n135\n 1121112\n 1.50D+00\n-2.50D-01\n "
          "3.25+102\n-4.00-003\n",
    TITLE "3 1 1 1\nrsa 3 3 4 0\n(2(4I3)) (4I3) (4F5.1)\n  1  3  4  5\n  1  3  2  3\n  1.0  4.0  2.0 -3.5\n",
    TITLE "3 1 1 1\nrza 3 3 2 0\n(4I3) (4I3) (4F5.1)\n  1  3  3  3\n  2  3\n   15  -20\n",
    TITLE "3 1 1 1\niua 2 2 3 0\n(3I3) (3I3) (3I4)\n  1  3  4\n  1  2  1\n  -7  12 100\n",
    TITLE "2 1 1 0\npsa 2 2 2 0\n(4I3) (4I3)\n  1  3  3\n  1  2\n",
    TITLE "2 1 1 0\nPZA 2 2 1 0\n(4I3) (4I3)\n  1  2  2\n  2\n",
    TITLE "5 1 1 1 2\nRUA 2 2 3 0\n(3I3) (3I3) (2P3F5.1) (2F5.1)\nFGX  1  2\n  1  3  4\n  1  2  1\n  1.0  "
          "2.0  3.0\n  9.0  9.0\n  8.0  8.0\n",
    TITLE "1 1 0 0\nrua 2 3 0 0\n(4I3) (4I3) (4F5.1)\n  1  1  1  1\n",
    TITLE "2 1 1 0\npra 2000000000 1 2 0\n(8I10) (4I12)\n         1         3\n  2000000000           7\n",
    TITLE "12500000000004 2 6250000000000 6250000000002\nrua 1 19 99999999999999 0\n(16I5) (16I5) (16F5.1)\n "
          "   1    1    1\n",
    TITLE "3 1 1 1\ncse 3 3 4 0\n",
    "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n",
};

const char *const pieces[] = {
    "0",          "1",
    "-1",         "99999999999999",
    "2147483648", "18446744073709551617",
    "\n",         "\r\n",
    " ",          "rua",
    "rsa",        "pza",
    "iua",        "cha",
    "qse",        "(",
    ")",          "(16I5)",
    "(1I1)",      "(4F5.1)",
    "(3E26.16)",  "(1P,5D16.8)",
    "(10(I8))",   "(99999I99999)",
    "(16383I1)",  "(64I256)",
    "-9P",        "E+",
    "E400",       "-400",
    "1.5-103",    "D",
    ".",          "nan",
    "%%",
};
const int piece_count = sizeof pieces / sizeof *pieces;

void make_seeds(void)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) add_seed(texts[i], strlen(texts[i]));
    add_gzip_seed(texts[0]);
    add_gzip_seed(texts[7]);
}
