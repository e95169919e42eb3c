// Open MPI and MPICH behind Communicator. Waiting is MPI_Testall and a nap: their own MPI_Wait
// spins, and more processes than cores would then wait for those that spin. Source: MPI: A
// Message-Passing Interface Standard, version 3.1, chapter 3.7.
#include <tapestry/nn/distributed/mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#ifdef TAPESTRY_WITH_MPI
#include <mpi.h>
#endif

namespace tapestry {
namespace {

// A number that a launcher has put into the environment: Open MPI's, MPICH's, Slurm's PMI.
int launched(std::initializer_list<const char*> names, int otherwise) {
    for (const char* name : names) {
        if (const char* text = std::getenv(name)) return std::atoi(text);
    }
    return otherwise;
}

int launched_size() { return launched({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1); }

}  // namespace

int launched_rank() { return launched({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}, 0); }

#ifdef TAPESTRY_WITH_MPI
namespace {

constexpr std::size_t kLongest = std::size_t{1} << 30;  // MPI counts with an int

void check_mpi(int code, const char* what) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    fail<LostProcessError>("mpi: {}: {}", what, text);
}

class MpiCommunicator final : public Communicator {
public:
    MpiCommunicator() {
        int level = 0;
        require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) == MPI_SUCCESS &&
                    level >= MPI_THREAD_FUNNELED,
                "mpi: it does not start with threads");
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    ~MpiCommunicator() override { MPI_Finalize(); }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string host() const override {
        char name[MPI_MAX_PROCESSOR_NAME] = {};
        int length = 0;
        MPI_Get_processor_name(name, &length);
        return name;
    }

private:
    void transfer(std::span<const Sent> sent, std::span<const Received> received) override {
        std::vector<MPI_Request> requests;
        for (const Received& one : received) {
            for_each_piece(one.bytes, [&](std::byte* data, int count) {
                check_mpi(MPI_Irecv(data, count, MPI_BYTE, one.from, 0, MPI_COMM_WORLD,
                                    &requests.emplace_back()),
                          "receiving");
            });
        }
        for (const Sent& one : sent) {
            for_each_piece(one.bytes, [&](const std::byte* data, int count) {
                check_mpi(MPI_Isend(data, count, MPI_BYTE, one.to, 0, MPI_COMM_WORLD,
                                    &requests.emplace_back()),
                          "sending");
            });
        }
        wait(requests);
    }

    template <class Byte, class F>
    static void for_each_piece(std::span<Byte> bytes, const F& f) {
        do {
            const std::size_t count = std::min(bytes.size(), kLongest);
            f(bytes.data(), static_cast<int>(count));
            bytes = bytes.subspan(count);
        } while (!bytes.empty());
    }

    // At first at once, then every 50 microseconds: no core is taken from whoever is waited for.
    static void wait(std::vector<MPI_Request>& requests) {
        for (int tries = 0;; ++tries) {
            int done = 0;
            check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                                  MPI_STATUSES_IGNORE),
                      "waiting");
            if (done != 0) return;
            if (tries < 100) {
                std::this_thread::yield();
            } else {
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        }
    }

    int rank_ = 0;
    int size_ = 1;
};

}  // namespace

bool has_mpi() { return true; }

std::unique_ptr<Communicator> join_processes() {
    if (launched_size() <= 1) return std::make_unique<OneProcess>();
    return std::make_unique<MpiCommunicator>();
}

void abort_processes(int code) {
    int started = 0;
    MPI_Initialized(&started);
    if (started != 0) MPI_Abort(MPI_COMM_WORLD, code);
}

#else

bool has_mpi() { return false; }

std::unique_ptr<Communicator> join_processes() {
    require(launched_size() <= 1,
            "mpirun has started {} processes, and this program was built without MPI: configure "
            "it with -DTAPESTRY_MPI=ON",
            launched_size());
    return std::make_unique<OneProcess>();
}

void abort_processes(int) {}

#endif

}  // namespace tapestry
