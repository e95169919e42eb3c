// A library to be preloaded: kills the process, as kill -9 does, at one of its messages.
//
//     export LD_PRELOAD=libkill_at_message.so KILL_LOG=log       how many are there?
//     export LD_PRELOAD=libkill_at_message.so KILL_LOG=log KILL_AT=1:57
//
// KILL_AT is a rank and a number. Counted are the messages that a process sends, as they set out
// and before MPI hears of them, and those that it receives, when they have arrived and before the
// program hears of it. KILL_LOG.RANK is given the moment of the kill, in nanoseconds since 1970,
// or, where nobody was killed, the number.
//
// The number follows from what process 0 asks the others for: so many messages a step, a
// checkpoint, an account. When they arrive depends on time, how many they are does not, but for two
// things that killed.sh avoids: questions whether others are there (--timeout), and a checkpoint
// that is due while the one before is still being written, for it comes later or not at all. Read
// next: killed.sh.
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

// The number at which this process is to end; 0: none.
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
    const std::vector<MPI_Request> before(requests, requests + count);  // what is over is forgotten
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
