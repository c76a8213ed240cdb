/* Lists of the places of products, one for each shape of rows of C (product_shapes.cuh): where each product
 * of a row goes among the entries of C's, in the order of A's row and then of B's, two bytes each. A plan
 * has them in one array, with each row's shape, and a mark where many rows beside it have the same, by which
 * it is a lane's or a warp's (values_by_shapes.cuh). */
#ifndef SPX_SHAPE_LISTS_CUH
#define SPX_SHAPE_LISTS_CUH
#include "product_rows.cuh"
#include "product_shapes.cuh"

constexpr int SPX_SHAPE_COLUMNS = 512; /* entries of C at most; */
constexpr int SPX_SHORT_COLUMNS = 32;  /* of a short row */

/* The list of a shape. */
struct spx_shape_list {
    int64_t begin;
    int entries, columns; /* of A's row, and of C's; 0: it has no list */
    short longest;        /* of B's rows */
    char alike;           /* as many rows of B, one after the other, have the same columns */
};

/* Rows of a shape that some neighbours have are marked. */
constexpr int SPX_SHAPE_MARK = 1 << 15;
static_assert(SPX_SHAPES < SPX_SHAPE_MARK);

/* The largest of short rows' C, of all rows' C, and of rows alike; the plan's numbers. */
struct spx_shape_sizes {
    int short_columns, columns, alike;
};

/* Of a plan, one array. */
struct spx_shape_plan {
    const spx_shape_list *lists; /* SPX_SHAPES + 1 */
    const unsigned short *place; /* of each product, among the entries of C's row */
    const unsigned short *of;    /* each row of C */

    template <class F> void each_pointer(F f) const
    {
        f(lists), f(place), f(of);
    }
    __device__ __forceinline__ int shape(int64_t row) const
    {
        return of[row] & (SPX_SHAPE_MARK - 1);
    }
    __device__ __forceinline__ bool is_listed(int64_t row) const
    {
        return lists[shape(row)].columns;
    }
    /* Is a row that is listed a lane's? */
    __device__ __forceinline__ bool is_short(int64_t row) const
    {
        return of[row] & SPX_SHAPE_MARK && lists[shape(row)].columns <= SPX_SHORT_COLUMNS;
    }
};

/* ---- lists ---- */

/* Marks the rows whose shape so many of the 32 have that they are among. */
static __global__ void spx_mark_neighbours(int nrows, const unsigned short *of, unsigned short *marked)
{
    constexpr int MANY = 8;
    const int64_t row = spx_element();
    const int shape = row < nrows ? of[row] : 0;
    const unsigned peers = __match_any_sync(SPX_ALL_LANES, shape);
    if (row < nrows)
        marked[row] =
            static_cast<unsigned short>(shape && __popc(peers) >= MANY ? shape | SPX_SHAPE_MARK : shape);
}

constexpr int SPX_SHAPE_THREADS = 512;
static_assert(SPX_SHAPE_ENTRIES <= SPX_SHAPE_THREADS);

/* A block a shape, where a row stands for it. taken: places. */
static __global__ void spx_list_shapes(spx_factor A, spx_factor B, spx_pointers ptr, const int *col,
                                       const int *stand, spx_shape_list *lists, unsigned short *place,
                                       unsigned long long *taken, spx_shape_sizes *sizes)
{
    constexpr int MOST_ALIKE = 3;
    __shared__ int64_t list, begins[SPX_SHAPE_ENTRIES];
    __shared__ int before[SPX_SHAPE_ENTRIES + 1], own[SPX_SHAPE_COLUMNS], longest;
    __shared__ unsigned differs; /* a bit for each number of rows of B that are not all alike */
    const int thread = static_cast<int>(threadIdx.x), shape = static_cast<int>(blockIdx.x);
    const int64_t row = stand[shape] - 1;
    if (thread == 0) lists[shape].columns = longest = 0, differs = 0;
    if (row < 0) return;
    const int64_t first = A.ptr[row], begin = ptr[row], end = ptr[row + 1];
    if (end - begin > SPX_SHAPE_COLUMNS) return;
    const int entries = static_cast<int>(A.ptr[row + 1] - first), columns = static_cast<int>(end - begin);
    int length = 0;
    for (int j = thread; j < columns; j += SPX_SHAPE_THREADS) own[j] = __ldg(col + begin + j);
    if (thread < entries) {
        const int c = __ldg(A.col + first + thread);
        begins[thread] = B.ptr[c];
        length = static_cast<int>(B.ptr[c + 1] - begins[thread]);
    }
    __syncthreads();
    const spx_scanned<int> scanned = spx_scan_block<SPX_SHAPE_THREADS>(length);
    if (thread <= SPX_SHAPE_ENTRIES) before[thread] = scanned.before;
    atomicMax(&longest, length);
    if (thread == 0) {
        list = static_cast<int64_t>(atomicAdd(taken, static_cast<unsigned long long>(scanned.total)));
    }
    __syncthreads();
    for (int e = thread / 32; e < entries; e += SPX_SHAPE_THREADS / 32) {
        const int n = before[e + 1] - before[e];
        bool other = e && n != before[e] - before[e - 1];
        for (int k = spx_lane(); k < n; k += 32) {
            const int c = __ldg(B.col + begins[e] + k);
            int low = 0, high = columns - 1; /* it is among them */
            while (low < high) {
                const int middle = (low + high) / 2;
                if (own[middle] < c) low = middle + 1;
                else high = middle;
            }
            place[list + before[e] + k] = static_cast<unsigned short>(low);
            other = other || (e && c != __ldg(B.col + begins[e - 1] + k));
        }
        if (!__any_sync(SPX_ALL_LANES, other) || spx_lane()) continue;
        for (int alike = 2; alike <= MOST_ALIKE; alike++)
            if (e % alike) atomicOr(&differs, 1u << alike);
    }
    __syncthreads();
    if (thread) return;
    int alike = 1;
    for (int n = 2; n <= MOST_ALIKE; n++)
        if (entries % n == 0 && !(differs >> n & 1u)) alike = n;
    lists[shape] = { list, entries, columns, static_cast<short>(longest), static_cast<char>(alike) };
    atomicMax(&sizes->columns, columns);
    atomicMax(&sizes->alike, alike);
    if (columns <= SPX_SHORT_COLUMNS) atomicMax(&sizes->short_columns, columns);
}
#endif
