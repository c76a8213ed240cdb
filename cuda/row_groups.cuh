/* The rows of CSR, dealt to warps: groups of neighbouring short rows that fill a warp's registers, and pieces
 * of longer rows, which as many warps as they have pieces take: of one block, or of a cluster of blocks.
 * Found once, from the row pointers alone.
 * Source: Greathouse & Daga, Efficient sparse matrix-vector multiplication on GPUs using the CSR storage
 * format, SC 2014 (row blocks, for a work-group each); Daga & Greathouse, HiPC 2015 (rows longer than one).
 */
#ifndef SPX_ROW_GROUPS_CUH
#define SPX_ROW_GROUPS_CUH
#include "build/build.cuh"
#include "scan.cuh"

constexpr int SPX_GROUP_WARPS = 8;   /* of a block */
constexpr int SPX_GROUP_CLUSTER = 8; /* blocks of a cluster, at most */
constexpr int SPX_GROUP_ROWS = 32;   /* at most, a lane each */
constexpr int SPX_GROUP_STEPS = 4;   /* that a block's warps take for a row before it is a cluster's */
constexpr int SPX_GROUP_PART = 128;  /* rows of which one warp finds the groups; none goes beyond it */
constexpr int SPX_GROUP_FINDERS = 4; /* warps of a block that find */

/* What a warp takes: `rows` rows from `row` on, or, negative, one of the -rows pieces of that row, 2 and
 * more. All bits 0: nothing. */
struct alignas(16) spx_row_group {
    int64_t place; /* the first entry, and in the lowest 8 bits rows */
    int row;
    int entries;

    static __host__ __device__ spx_row_group of(int64_t entry, int row, int rows, int entries)
    {
        return { entry * 256 + (rows & 255), row, entries };
    }
    __device__ int64_t entry() const
    {
        return place >> 8;
    }
    __device__ int rows() const
    {
        return static_cast<signed char>(place & 255);
    }
};

/* The warps of a row, by classes; groups come last. A class begins with a block. */
enum { SPX_OF_CLUSTER, SPX_OF_8, SPX_OF_4, SPX_OF_2, SPX_OF_1, SPX_GROUP_CLASSES };

/* How a matrix is dealt. */
struct spx_grouping {
    int most;    /* entries of a group, and of a step of a warp */
    int cluster; /* blocks of a cluster; 1: no row has one */
};

__device__ __forceinline__ int spx_pieces_of(const spx_grouping &g, int group_class)
{
    return group_class == SPX_OF_CLUSTER ? g.cluster * SPX_GROUP_WARPS
                                         : SPX_GROUP_WARPS >> (group_class - SPX_OF_8);
}

__device__ __forceinline__ int spx_class_of(const spx_grouping &g, int64_t entries)
{
    const int64_t warps = (entries + g.most - 1) / g.most;
    if (warps <= 2) return SPX_OF_2;
    if (warps <= 4) return SPX_OF_4;
    return g.cluster == 1 || warps <= SPX_GROUP_WARPS * SPX_GROUP_STEPS ? SPX_OF_8 : SPX_OF_CLUSTER;
}

/* Goes over the groups of a part of the rows, by a warp that has their pointers in `ptr`: calls
 * group(row, rows, entry, entries) and pieces(class, row, entry, entries) with the same in all lanes. */
template <class GROUP, class PIECES>
__device__ void spx_each_group(const spx_grouping &g, const int64_t *ptr, int first, int rows, GROUP group,
                               PIECES pieces)
{
    for (int begin = 0; begin < rows;) {
        int end = begin;
        while (end < rows && end - begin < SPX_GROUP_ROWS && ptr[end + 1] - ptr[begin] <= g.most) end++;
        const int64_t entries = ptr[begin + 1] - ptr[begin];
        if (end == begin) {
            pieces(spx_class_of(g, entries), first + begin, ptr[begin], entries);
            end++;
        } else {
            group(first + begin, end - begin, ptr[begin], static_cast<int>(ptr[end] - ptr[begin]));
        }
        begin = end;
    }
}

/* The pointers of this warp's part of the rows, in shared memory; and how many rows it has. */
template <class P> __device__ int spx_load_part(const P *from, int nrows, int64_t part, int64_t *to)
{
    const int64_t first = part * SPX_GROUP_PART, left = nrows - first;
    const int rows = static_cast<int>(left < SPX_GROUP_PART ? left : SPX_GROUP_PART);
    for (int i = spx_lane(); i <= rows; i += 32) to[i] = static_cast<int64_t>(from[first + i]);
    __syncwarp();
    return rows;
}

/* count[c * parts + part] = the groups of class c that a part of the rows has, in warps; *longest becomes the
 * length of the longest row that is no group's, if it is more. */
template <class P>
__global__ void spx_count_groups(const P *ptr, int nrows, int64_t parts, spx_grouping g, int64_t *count,
                                 unsigned long long *longest)
{
    __shared__ int64_t own[SPX_GROUP_FINDERS][SPX_GROUP_PART + 1];
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int64_t part = static_cast<int64_t>(blockIdx.x) * SPX_GROUP_FINDERS + warp;
    if (part >= parts) return;
    const int rows = spx_load_part(ptr, nrows, part, own[warp]);
    int64_t found[SPX_GROUP_CLASSES] = {}, most = 0;
    spx_each_group(
        g, own[warp], 0, rows, [&](int, int, int64_t, int) { found[SPX_OF_1]++; },
        [&](int c, int, int64_t, int64_t entries) {
            most = entries > most ? entries : most;
#pragma unroll
            for (int i = 0; i < SPX_GROUP_CLASSES; i++) found[i] += i == c ? spx_pieces_of(g, i) : 0;
        });
    if (spx_lane() > 0) return;
    if (most) atomicMax(longest, static_cast<unsigned long long>(most));
#pragma unroll
    for (int c = 0; c < SPX_GROUP_CLASSES; c++) count[c * parts + part] = found[c];
}

/* Where the groups of each class begin, once they are filled up to whole blocks; and the end of the last. */
struct spx_class_starts {
    int64_t at[SPX_GROUP_CLASSES + 1];
    unsigned long long longest; /* row; 0: none is longer than a group */
};

/* By one thread: before[] are the sums of the counts before each. */
static __global__ void spx_start_classes(const int64_t *before, int64_t parts, spx_class_starts *starts)
{
    int64_t at = starts->at[0] = 0;
    for (int c = 0; c < SPX_GROUP_CLASSES; c++) {
        const int64_t has = before[(c + 1) * parts] - before[c * parts];
        at += (has + SPX_GROUP_WARPS - 1) / SPX_GROUP_WARPS * SPX_GROUP_WARPS;
        starts->at[c + 1] = at;
    }
}

/* Writes the groups to what was cleared. What a class is filled up with has its number of pieces, so that a
 * block goes one way, and no entries. */
template <class P>
__global__ void spx_write_groups(const P *ptr, int nrows, int64_t parts, spx_grouping g,
                                 const int64_t *before, const spx_class_starts *starts, spx_row_group *groups)
{
    __shared__ int64_t own[SPX_GROUP_FINDERS][SPX_GROUP_PART + 1];
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = spx_lane();
    const int64_t part = static_cast<int64_t>(blockIdx.x) * SPX_GROUP_FINDERS + warp;
    if (part >= parts) return;
    if (part == 0) {
        for (int c = SPX_OF_8; c < SPX_OF_1; c++) {
            const int64_t has = before[(c + 1) * parts] - before[c * parts], end = starts->at[c + 1];
            for (int64_t i = starts->at[c] + has + lane; i < end; i += 32)
                groups[i] = spx_row_group::of(0, -1, -spx_pieces_of(g, c), 0);
        }
    }
    const int rows = spx_load_part(ptr, nrows, part, own[warp]);
    int64_t next[SPX_GROUP_CLASSES];
#pragma unroll
    for (int c = 0; c < SPX_GROUP_CLASSES; c++)
        next[c] = starts->at[c] + before[c * parts + part] - before[c * parts];
    spx_each_group(
        g, own[warp], static_cast<int>(part * SPX_GROUP_PART), rows,
        [&](int row, int count, int64_t entry, int entries) {
            if (lane == 0) groups[next[SPX_OF_1]] = spx_row_group::of(entry, row, count, entries);
            next[SPX_OF_1]++;
        },
        [&](int c, int row, int64_t entry, int64_t entries) {
            const int pieces = spx_pieces_of(g, c);
            /* whole steps of a warp, so that lanes load sectors alike */
            const int64_t each = ((entries + pieces - 1) / pieces + 31) / 32 * 32;
            int64_t at = 0;
#pragma unroll
            for (int i = 0; i < SPX_GROUP_CLASSES; i++) {
                at = i == c ? next[i] : at;
                next[i] += i == c ? pieces : 0;
            }
            for (int i = lane; i < pieces; i += 32) {
                const int64_t from = i * each < entries ? i * each : entries,
                              to = from + each < entries ? from + each : entries;
                groups[at + i] = spx_row_group::of(entry + from, row, -pieces, static_cast<int>(to - from));
            }
        });
}
#endif
