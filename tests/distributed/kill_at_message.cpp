// A library for LD_PRELOAD that kills the process, like kill -9, at one of its messages.
//
//     export LD_PRELOAD=libkill_at_message.so KILL_LOG=log       how many are there?
//     export LD_PRELOAD=libkill_at_message.so KILL_LOG=log KILL_AT=1:57
//
// KILL_AT is a rank and a number. Counts the messages that a process sends, before passing them to
// MPI, and those that it receives, after their arrival and before the program learns of them.
// KILL_LOG.RANK gets the time of the kill, in nanoseconds since 1970, or the number of messages if
// no process was killed.
//
// The number follows from process 0's requests: a fixed number per step, checkpoint and account.
// Arrival times vary, but the number does not, except for two things that killed.sh avoids:
// liveness queries (--timeout), and a checkpoint that is due while the previous one is still being
// written, since it comes later or not at all. Read next: killed.sh.
#include <mpi.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

namespace {

long messages = 0;
std::set<MPI_Request> receiving;

int own_rank() {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

void write_down(long long number) {
    const char* log = std::getenv("KILL_LOG");
    if (log == nullptr) return;
    const std::string path = std::string(log) + "." + std::to_string(own_rank());
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return;
    std::fprintf(file, "%lld\n", number);
    std::fclose(file);
}

// The message at which to kill this process; 0: none.
long chosen() {
    const char* text = std::getenv("KILL_AT");
    int rank = -1;
    long number = 0;
    if (text == nullptr || std::sscanf(text, "%d:%ld", &rank, &number) != 2) return 0;
    return rank == own_rank() ? number : 0;
}

void one_more() {
    static const long last = chosen();
    if (++messages != last) return;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    write_down(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    std::raise(SIGKILL);
}

}  // namespace

extern "C" {

int MPI_Isend(const void* bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm all,
              MPI_Request* request) {
    one_more();
    return PMPI_Isend(bytes, count, type, to, tag, all, request);
}

int MPI_Irecv(void* bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm all,
              MPI_Request* request) {
    const int code = PMPI_Irecv(bytes, count, type, from, tag, all, request);
    receiving.insert(*request);
    return code;
}

int MPI_Testsome(int count, MPI_Request* requests, int* done, int* which, MPI_Status* statuses) {
    const std::vector<MPI_Request> before(requests, requests + count);  // finished ones are erased
    const int code = PMPI_Testsome(count, requests, done, which, statuses);
    for (int i = 0; code == MPI_SUCCESS && *done != MPI_UNDEFINED && i < *done; ++i) {
        if (receiving.erase(before[static_cast<std::size_t>(which[i])]) > 0) one_more();
    }
    return code;
}

int MPI_Allgather(const void* from, int sent, MPI_Datatype sent_type, void* to, int received,
                  MPI_Datatype received_type, MPI_Comm all) {
    one_more();
    return PMPI_Allgather(from, sent, sent_type, to, received, received_type, all);
}

int MPI_Finalize() {
    write_down(messages);
    return PMPI_Finalize();
}
}
