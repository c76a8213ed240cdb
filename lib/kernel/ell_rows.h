/* The ELL part of rows, for templates: blocks of ROWS rows, whose sums stay in a cache while the columns
 * of the block go by. y = alpha*sum + beta*y. Needs SPX_V and the names of each_type.h. */
static void SPX_NAME(ell_rows)(const spx_mul *m, int64_t begin, int64_t end)
{
    const int64_t nrows = m->A->nrows, width = m->A->width;
    const int32_t *col = spx_data(m->A, SPX_COL);
    const SPX_V *val = spx_data(m->A, SPX_VAL), *x = m->x;
    const SPX_V alpha = m->alpha.SPX_VSUFFIX, beta = m->beta.SPX_VSUFFIX;
    SPX_V *y = m->y, sum[ROWS];
    for (int64_t c = begin; c < end; c++) {
        const int64_t first = c * ROWS, rows = spx_min(ROWS, nrows - first);
        for (int64_t i = 0; i < rows; i++) sum[i] = 0;
        for (int64_t k = 0; k < width; k++) {
            const int32_t *at = col + k * nrows + first;
            const SPX_V *v = val + k * nrows + first;
            for (int64_t i = 0; i < rows; i++)
                if (at[i] >= 0) sum[i] += v[i] * x[at[i]];
        }
        for (int64_t i = 0; i < rows; i++)
            y[first + i] = SPX_VNAME(axpby)(alpha, sum[i], beta, &y[first + i]);
    }
}
