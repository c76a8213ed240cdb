/* Triangulations against their definition: the edges counted, and every triangle's circle empty. */
#include "support.h"

#include <inttypes.h>

#include "delaunay.h"

static int64_t turn(point a, point b, point c)
{
    return (int64_t)(b.x - a.x) * (c.y - a.y) - (int64_t)(b.y - a.y) * (c.x - a.x);
}

__extension__ typedef __int128 wide;

/* Whether d lies within the circle through a, b, c. */
static bool within(point a, point b, point c, point d)
{
    const wide ax = a.x - d.x, ay = a.y - d.y, bx = b.x - d.x, by = b.y - d.y, cx = c.x - d.x, cy = c.y - d.y;
    const wide a2 = ax * ax + ay * ay, b2 = bx * bx + by * by, c2 = cx * cx + cy * cy;
    return a2 * (bx * cy - cx * by) + b2 * (cx * ay - ax * cy) + c2 * (ax * by - bx * ay) > 0;
}

/* Points on the border of the hull, those on its edges among them. */
static int64_t hull_size(const point *p, int64_t n)
{
    int64_t border = 0;
    for (int64_t i = 0; i < n; i++) {
        bool outer = false;
        for (int64_t j = 0; j < n && !outer; j++) {
            if (j == i) continue;
            bool all_left = true;
            for (int64_t k = 0; k < n && all_left; k++) all_left = turn(p[i], p[j], p[k]) >= 0;
            outer = all_left;
        }
        border += outer;
    }
    return border;
}

/* As many edges as a triangulation has, and every triangle's circle without a point inside. */
static void check_triangulation(const point *p, int64_t n, bool collinear)
{
    triangulation t;
    assert_true(triangulate(p, n, 2, &t));
    int64_t edges = 0;
    for (int32_t e = 0; e < t.halves; e++) {
        if (t.origin[e] < 0) continue;
        edges++;
        const point a = p[t.origin[e]], b = p[t.origin[e ^ 1]], c = p[t.origin[t.next[e] ^ 1]];
        if (turn(a, b, c) <= 0) continue;
        for (int64_t d = 0; d < n; d++)
            if (within(a, b, c, p[d]))
                fail_msg("point %" PRId64 " of %" PRId64 " lies within a triangle's circle", d, n);
    }
    assert_int_equal(edges / 2, collinear ? n - 1 : 3 * n - 3 - hull_size(p, n));
    triangulation_free(&t);
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

static void test_triangulation(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int64_t n = 2; n <= 90; n += n < 12 ? 1 : 13)
        /* flat ones are full of points on a line or a circle */
        for (int32_t height = 1; height <= 1000; height *= 10) {
            point p[90];
            bool collinear = true;
            for (int64_t i = 0; i < n; i++) {
                p[i] = (point){ (int32_t)i * (height == 1000 ? 11 : 1),
                                (int32_t)(next_random(&random) % (uint64_t)height) };
                collinear = collinear && turn(p[0], p[n > 1], p[i]) == 0;
            }
            check_triangulation(p, n, collinear);
        }
}

/* 24 points on the circle about (2^25, 2^25) with the squared radius 33198620^2 + k, k in -3, 0, 1, 2, 4:
 * too near for doubles to tell which lie within it. */
static void test_triangulation_exact(void **state)
{
    static const point p[] = {
        { 414052, 31588832 },   { 1165534, 40841932 },  { 5642217, 51528208 },  { 6098276, 14891424 },
        { 6272833, 52471692 },  { 9666204, 56608736 },  { 12097541, 8221643 },  { 14637172, 6272833 },
        { 22738526, 2167101 },  { 26266932, 1165534 },  { 29707134, 66529372 }, { 32074538, 66720051 },
        { 33554433, 66753052 }, { 33554434, 66753052 }, { 36927844, 527648 },   { 42445183, 65540412 },
        { 43396656, 1848297 },  { 58887221, 12097541 }, { 61530576, 15680324 }, { 62156320, 50409116 },
        { 64941763, 22738526 }, { 66529372, 29707134 }, { 66569634, 37039372 }, { 66720051, 35034326 },
    };
    (void)state;
    check_triangulation(p, sizeof p / sizeof *p, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triangulation),
        cmocka_unit_test(test_triangulation_exact),
    };
    return cmocka_run_group_tests_name("generate triangulation", tests, NULL, NULL);
}
