/* Message loops for sprintprof, compiled at run time by the MPI's own mpicc. Every function returns an MPI error code.
 * Lengths and counts are 64 bit; a message over PIECE bytes goes in pieces, as MPI counts are 32 bit. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef PIECE /* tests make it small */
#define PIECE ((int64_t)1 << 30)
#endif
#define TAG 71
#define TRY(call)                            \
    do {                                     \
        int error_ = (call);                 \
        if (error_ != MPI_SUCCESS)           \
            return error_;                   \
    } while (0)

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int sp_sizeof_comm(void) { return (int)sizeof(MPI_Comm); }

/* MPI_Get_library_version of what this file was linked with: must be what mpi4py uses. */
int sp_library(char *text)
{
    int length;
    return MPI_Get_library_version(text, &length);
}

static int send_all(MPI_Comm comm, const char *from, int64_t bytes, int peer)
{
    do {
        int part = (int)(bytes > PIECE ? PIECE : bytes);
        TRY(MPI_Send(from, part, MPI_BYTE, peer, TAG, comm));
        from += part;
        bytes -= part;
    } while (bytes > 0);
    return MPI_SUCCESS;
}

static int receive_all(MPI_Comm comm, char *to, int64_t bytes, int peer)
{
    do {
        int part = (int)(bytes > PIECE ? PIECE : bytes);
        TRY(MPI_Recv(to, part, MPI_BYTE, peer, TAG, comm, MPI_STATUS_IGNORE));
        to += part;
        bytes -= part;
    } while (bytes > 0);
    return MPI_SUCCESS;
}

/* `rounds` round trips with `peer`; the side with first != 0 begins. */
int sp_pingpong(MPI_Comm comm, const char *from, char *to, int64_t bytes, int peer, int first, int64_t rounds)
{
    for (int64_t i = 0; i < rounds; i++) {
        if (first) {
            TRY(send_all(comm, from, bytes, peer));
            TRY(receive_all(comm, to, bytes, peer));
        } else {
            TRY(receive_all(comm, to, bytes, peer));
            TRY(send_all(comm, from, bytes, peer));
        }
    }
    return MPI_SUCCESS;
}

/* `rounds` windows of `window` messages; in one direction an empty message back ends each window. All messages of a
 * window use the same two buffers, as OSU's benchmarks do. */
int sp_stream(MPI_Comm comm, const char *from, char *to, int bytes, int peer, int sends, int receives, int window,
              int64_t rounds)
{
    MPI_Request *requests = malloc(sizeof(MPI_Request) * 2 * (size_t)window);
    int error = requests ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    for (int64_t i = 0; i < rounds && error == MPI_SUCCESS; i++) {
        int open = 0;
        for (int w = 0; receives && w < window && error == MPI_SUCCESS; w++)
            error = MPI_Irecv(to, bytes, MPI_BYTE, peer, TAG, comm, &requests[open++]);
        for (int w = 0; sends && w < window && error == MPI_SUCCESS; w++)
            error = MPI_Isend(from, bytes, MPI_BYTE, peer, TAG, comm, &requests[open++]);
        if (error == MPI_SUCCESS)
            error = MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
        if (error == MPI_SUCCESS && sends && !receives)
            error = MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG + 1, comm, MPI_STATUS_IGNORE);
        if (error == MPI_SUCCESS && receives && !sends)
            error = MPI_Send(NULL, 0, MPI_BYTE, peer, TAG + 1, comm);
    }
    free(requests);
    return error;
}

/* Incast: every other rank sends `count` elements to rank 0. Its mirror image: rank 0 sends to all others. */
static int fan(MPI_Comm comm, const char *from, char *to, int count, MPI_Datatype type, int itemsize, int into_root)
{
    int rank, size, error = MPI_SUCCESS;
    TRY(MPI_Comm_rank(comm, &rank));
    TRY(MPI_Comm_size(comm, &size));
    if (rank != 0)
        return into_root ? MPI_Send(from, count, type, 0, TAG, comm)
                         : MPI_Recv(to, count, type, 0, TAG, comm, MPI_STATUS_IGNORE);
    MPI_Request *requests = malloc(sizeof(MPI_Request) * (size_t)size);
    if (!requests)
        return MPI_ERR_NO_MEM;
    for (int peer = 1; peer < size && error == MPI_SUCCESS; peer++)
        error = into_root ? MPI_Irecv(to + (int64_t)(peer - 1) * count * itemsize, count, type, peer, TAG, comm,
                                      &requests[peer - 1])
                          : MPI_Isend(from, count, type, peer, TAG, comm, &requests[peer - 1]);
    if (error == MPI_SUCCESS)
        error = MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE);
    free(requests);
    return error;
}

static MPI_Datatype type_of(int itemsize)
{
    return itemsize == 8 ? MPI_DOUBLE : itemsize == 4 ? MPI_FLOAT : MPI_BYTE;
}

enum { ALL_TO_ONE, ONE_TO_ALL, BROADCAST, REDUCE, GATHER, SCATTER, ALLGATHER, REDUCE_SCATTER, ALLREDUCE, BARRIER };

static int once(MPI_Comm comm, int what, const void *from, void *to, int count, int itemsize)
{
    MPI_Datatype type = type_of(itemsize);
    int rank;
    TRY(MPI_Comm_rank(comm, &rank));
    switch (what) {
    case ALL_TO_ONE:
        return fan(comm, from, to, count, type, itemsize, 1);
    case ONE_TO_ALL:
        return fan(comm, from, to, count, type, itemsize, 0);
    case BROADCAST:
        return MPI_Bcast(rank == 0 ? (void *)from : to, count, type, 0, comm);
    case REDUCE:
        return MPI_Reduce(from, to, count, type, MPI_SUM, 0, comm);
    case GATHER:
        return MPI_Gather(from, count, type, to, count, type, 0, comm);
    case SCATTER:
        return MPI_Scatter(from, count, type, to, count, type, 0, comm);
    case ALLGATHER:
        return MPI_Allgather(from, count, type, to, count, type, comm);
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter_block(from, to, count, type, MPI_SUM, comm);
    case ALLREDUCE:
        return MPI_Allreduce(from, to, count, type, MPI_SUM, comm);
    case BARRIER:
        return MPI_Barrier(comm);
    }
    return MPI_ERR_ARG;
}

/* `rounds` collective operations, a barrier before each but the first; *elapsed_s is the time in the operations. A
 * barrier needs no other before it. */
int sp_collective(MPI_Comm comm, int what, const void *from, void *to, int count, int itemsize, int64_t rounds,
                  double *elapsed_s)
{
    double elapsed = 0.0;
    for (int64_t i = 0; i < rounds; i++) {
        if (i && what != BARRIER)
            TRY(MPI_Barrier(comm));
        double begin = now_s();
        TRY(once(comm, what, from, to, count, itemsize));
        elapsed += now_s() - begin;
    }
    *elapsed_s = elapsed;
    return MPI_SUCCESS;
}

static void add(char *into, const char *what, int64_t count, int itemsize)
{
    if (itemsize == 8)
        for (int64_t i = 0; i < count; i++)
            ((double *)into)[i] += ((const double *)what)[i];
    else
        for (int64_t i = 0; i < count; i++)
            ((float *)into)[i] += ((const float *)what)[i];
}

/* One step of a schedule: send a piece of `work`, receive a piece (into `spare` if it is to be added), both at once. */
typedef struct {
    int64_t send_to, send_at, send_count, receive_from, receive_at, receive_count, adds;
} Step;

static int steps_once(MPI_Comm comm, char *work, char *spare, int itemsize, const Step *steps, int64_t step_count)
{
    MPI_Datatype type = type_of(itemsize);
    for (const Step *s = steps; s < steps + step_count; s++) {
        char *into = s->adds ? spare : work + s->receive_at * itemsize;
        int to = s->send_to < 0 ? MPI_PROC_NULL : (int)s->send_to;
        int source = s->receive_from < 0 ? MPI_PROC_NULL : (int)s->receive_from;
        TRY(MPI_Sendrecv(work + s->send_at * itemsize, (int)s->send_count, type, to, TAG, into, (int)s->receive_count,
                         type, source, TAG, comm, MPI_STATUS_IGNORE));
        if (s->adds)
            add(work + s->receive_at * itemsize, spare, s->receive_count, itemsize);
    }
    return MPI_SUCCESS;
}

/* A table of steps for vectors of `count` elements; none means MPI_Allreduce. */
typedef struct {
    const Step *steps;
    int64_t step_count, count;
} Table;

/* Sum of `table->count` elements over all ranks, from `from` to `to`. */
static int sum_once(MPI_Comm comm, const char *from, char *to, char *spare, int itemsize, const Table *table)
{
    if (!table->steps)
        return MPI_Allreduce(from, to, (int)table->count, type_of(itemsize), MPI_SUM, comm);
    memcpy(to, from, (size_t)(table->count * itemsize));
    return steps_once(comm, to, spare, itemsize, table->steps, table->step_count);
}

/* `rounds` times: all-reduce `tensors` tensors of `tensor_count` elements each, `fused` of them at a time through the
 * buffers `packed` and `summed` (one at a time and in place where fused is 1). `tables` has the full bucket's and the
 * last one's. A barrier before each round but the first. */
int sp_buckets(MPI_Comm comm, const char *from, char *to, char *packed, char *summed, char *spare, int itemsize,
               int64_t tensor_count, int64_t tensors, int64_t fused, const Table *tables, int64_t rounds,
               double *elapsed_s)
{
    double elapsed = 0.0;
    size_t one = (size_t)(tensor_count * itemsize);
    for (int64_t i = 0; i < rounds; i++) {
        if (i)
            TRY(MPI_Barrier(comm));
        double begin = now_s();
        for (int64_t first = 0; first < tensors; first += fused) {
            int64_t here = tensors - first < fused ? tensors - first : fused;
            const Table *table = here == fused ? &tables[0] : &tables[1];
            if (fused == 1) {
                TRY(sum_once(comm, from + first * one, to + first * one, spare, itemsize, table));
                continue;
            }
            for (int64_t t = 0; t < here; t++)
                memcpy(packed + t * one, from + (first + t) * one, one);
            TRY(sum_once(comm, packed, summed, spare, itemsize, table));
            for (int64_t t = 0; t < here; t++)
                memcpy(to + (first + t) * one, summed + t * one, one);
        }
        elapsed += now_s() - begin;
    }
    *elapsed_s = elapsed;
    return MPI_SUCCESS;
}
