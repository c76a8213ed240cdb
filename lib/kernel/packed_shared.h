/* Slices of PACKED that share offsets, over the vectors of one instruction set: an element of x is read once
 * and goes to all lanes of a vector that share its column. A vector's lanes share few: at most W / 2, where
 * lanes share by twos and threes. Included once a type by mul_packed_simd.h. */

/* What the lanes of each vector share: PARTS offsets at most. */
typedef struct SPX_VNAME(parts) {
    spx_packed_dealt lanes;
    const unsigned char *end; /* of all streams */
    bool few; /* else there are more of some vector, and the lanes have theirs in `lanes` alone */
    uint8_t pattern[LANES / W][PARTS];
    uint32_t bits[LANES / W][PARTS];       /* of the lanes, */
    SPX_VNAME(msk) mask[LANES / W][PARTS]; /* none: there are fewer parts */
    int32_t offset[LANES / W][PARTS];      /* in the run at hand */
    uint32_t in[LANES / W];                /* lanes that have an entry there */
    uint8_t number[LANES];                 /* of a lane's part in its vector, times 4 */
} SPX_VNAME(parts);

static inline void SPX_VNAME(parts_of)(SPX_VNAME(parts) * p, const unsigned char *stream,
                                       const unsigned char *end)
{
    int patterns = 0;
    p->end = end;
    spx_packed_open(&p->lanes, stream);
    for (int i = 0; i < LANES / W; i++) {
        const uint32_t own = p->lanes.shared.begins >> (i * W) & ALL;
        int lane = 0;
        for (int n = 0; n < PARTS; n++) {
            const uint32_t behind = lane < W ? (uint32_t)(own & ~((2ull << lane) - 1)) : 0;
            const int next = behind ? __builtin_ctz(behind) : W;
            patterns += lane < W ? (int)(own >> lane & 1) : 0;
            p->pattern[i][n] = (uint8_t)(patterns - 1);
            p->bits[i][n] = (uint32_t)((1ull << next) - (1ull << lane));
            p->mask[i][n] = SPX_VNAME(bits)(p->bits[i][n]);
            for (; lane < next; lane++) p->number[i * W + lane] = (uint8_t)(4 * n);
        }
        p->few = lane == W;
        if (!p->few) return;
    }
}

/* Takes the offsets of a run; have all lanes an entry there? */
static inline bool SPX_VNAME(run_of)(SPX_VNAME(parts) * p, const unsigned char *stream)
{
    const spx_packed_shared *const head = &p->lanes.shared;
    int32_t *const told = p->offset[0], none = head->wide ? -1 : SPX_PACKED_PADDING;
    uint16_t last[LANES] = { 0 };
    if (!head->wide && p->end - stream < (int64_t)sizeof last)
        stream = memcpy(last, stream, (size_t)p->lanes.run_bytes);
    if (!(head->wide ? deal_u32((const void *)stream, p->pattern[0], told)
                     : deal_u16((const void *)stream, p->pattern[0], told)))
        return true;
    for (int i = 0; i < LANES / W; i++) {
        p->in[i] = 0;
        for (int n = 0; n < PARTS; n++)
            if (p->offset[i][n] == none) p->offset[i][n] = 0;
            else p->in[i] |= p->bits[i][n];
    }
    return false;
}

/* A vector's lanes that are in, or all of them. */
static inline __attribute__((always_inline)) SPX_VNAME(vec)
    SPX_VNAME(add_in)(bool all, uint32_t in, SPX_VNAME(vec) sum, SPX_VNAME(vec) v, SPX_VNAME(vec) x)
{
    return all ? SPX_VNAME(add_product)(sum, v, x) : SPX_VNAME(add_some)(sum, SPX_VNAME(bits)(in), v, x);
}

#ifdef SPX_PAIRS
/* `together` steps of a run at a time, whose values begin at a place: the PARTS columns of a vector and what
 * follows them in x are two registers, of which lanes take theirs by a permutation. */
static inline __attribute__((always_inline)) void SPX_VNAME(steps_of)(int code, int together, bool all,
                                                                      const SPX_VNAME(coded) * s,
                                                                      const SPX_VNAME(parts) * p,
                                                                      SPX_VNAME(vec) * a, int64_t place,
                                                                      const SPX_V *x)
{
    for (int first = 0; first < p->lanes.shared.run; first += together, x += together) {
        for (int j = 0; j < together; j++) SPX_VNAME(values_ahead)(code, s, place + (first + j) * LANES);
        for (int i = 0; i < LANES / W; i++) {
            const SPX_VNAME(pair) from_x = SPX_VNAME(pair_of)(x, p->offset[i]);
            for (int j = 0; j < together; j++)
                a[i] = SPX_VNAME(add_in)(all, p->in[i], a[i],
                                         SPX_VNAME(values)(code, s, place + (first + j) * LANES + i * W),
                                         SPX_VNAME(pick)(from_x, p->number + i * W, j));
        }
    }
}

static inline __attribute__((always_inline)) void SPX_VNAME(run)(int code, bool all,
                                                                 const SPX_VNAME(coded) * s,
                                                                 const SPX_VNAME(parts) * p,
                                                                 SPX_VNAME(vec) * a, int64_t place,
                                                                 const SPX_V *x)
{
    if (p->lanes.shared.run % 3 == 0) SPX_VNAME(steps_of)(code, 3, all, s, p, a, place, x);
    else if (p->lanes.shared.run % 2 == 0) SPX_VNAME(steps_of)(code, 2, all, s, p, a, place, x);
    else SPX_VNAME(steps_of)(code, 1, all, s, p, a, place, x);
}

/* Four elements of x may be read from each of these columns on. */
static inline bool SPX_VNAME(inside)(const SPX_VNAME(parts) * p, int64_t base, int64_t ncols)
{
    return base + last_of(p->offset[0]) + p->lanes.shared.run + 3 <= ncols;
}

#else
/* The steps of a run, whose values begin at a place. */
static inline __attribute__((always_inline)) void SPX_VNAME(run)(int code, bool all,
                                                                 const SPX_VNAME(coded) * s,
                                                                 const SPX_VNAME(parts) * p,
                                                                 SPX_VNAME(vec) * a, int64_t place,
                                                                 const SPX_V *x)
{
    for (int j = 0; j < p->lanes.shared.run; j++, x++, place += LANES) {
        SPX_VNAME(values_ahead)(code, s, place);
        for (int i = 0; i < LANES / W; i++) {
            SPX_VNAME(vec) from_x = SPX_VNAME(same)(x[p->offset[i][0]]);
            for (int n = 1; n < PARTS; n++)
                from_x = SPX_VNAME(put_same)(from_x, p->mask[i][n], x + p->offset[i][n]);
            a[i] = SPX_VNAME(add_in)(all, p->in[i], a[i], SPX_VNAME(values)(code, s, place + i * W), from_x);
        }
    }
}

static inline bool SPX_VNAME(inside)(const SPX_VNAME(parts) * p, int64_t base, int64_t ncols)
{
    (void)p, (void)base, (void)ncols;
    return true;
}
#endif

/* All steps of a slice that shares offsets; answers where its stream ends. */
static inline __attribute__((always_inline)) const unsigned char *SPX_VNAME(shared)(
    int code, const SPX_VNAME(coded) * s, SPX_VNAME(vec) * a, const int32_t *base, int64_t steps,
    const unsigned char *stream, const unsigned char *end, int64_t place, const SPX_V *x, int64_t ncols)
{
    SPX_VNAME(parts) parts;
    SPX_VNAME(parts_of)(&parts, stream, end);
    const int run = parts.lanes.shared.run;
    stream += sizeof parts.lanes.shared;
    for (int64_t k = 0; k < steps; k += run, stream += parts.lanes.run_bytes, place += run * LANES) {
        const bool all = parts.few && SPX_VNAME(run_of)(&parts, stream);
        if (!parts.few || !SPX_VNAME(inside)(&parts, base[k], ncols)) {
            spx_packed_deal(&parts.lanes, stream);
            for (int j = 0; j < run; j++) {
                SPX_VNAME(values_ahead)(code, s, place + j * LANES);
                if (parts.lanes.shared.wide)
                    SPX_VNAME(wide)(code, s, a, parts.lanes.wide, place + j * LANES, x + base[k] + j);
                else SPX_VNAME(narrow)(code, s, a, parts.lanes.narrow, place + j * LANES, x + base[k] + j);
            }
        } else if (all) SPX_VNAME(run)(code, true, s, &parts, a, place, x + base[k]);
        else SPX_VNAME(run)(code, false, s, &parts, a, place, x + base[k]);
    }
    return stream;
}
