/* A small Rutherford-Boeing file for tests, whole and in pieces. */
#ifndef BOEING_H
#define BOEING_H
#define TITLE "A matrix made by hand                                                   byhand  \n"
/*     1 . 3
 *     . 2 .     by columns: 1, 4; 2; 3 */
#define RUA_REST "    1    3    4    5\n    1    3    2    1\n 1.0E+00 4.0E+00 2.0E+00 3.0E+00\n"
#define RUA_SIZES "             3             3             4             0\n"
#define RUA_FORMATS "(16I5)          (16I5)          (4E8.1)             \n"
#define RUA                                                                                                \
    TITLE "             3             1             1             1\nrua           " RUA_SIZES RUA_FORMATS \
        RUA_REST
#define RUA_DUMP "CSR 3x3: 1 1 1; 1 3 3; 2 2 2; 3 1 4;"
#endif
