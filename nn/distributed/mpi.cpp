// Implements Communicator with Open MPI or MPICH. Waits by MPI_Testsome and a nap, because MPI_Wait
// spins, and with more processes than cores the others would wait for the spinning ones. Source:
// MPI: A Message-Passing Interface Standard, version 3.1, chapter 3.7.
#include <tapestry/nn/distributed/mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#ifdef TAPESTRY_WITH_MPI
#include <mpi.h>
#endif

namespace tapestry {
namespace {

// A number from the launcher's environment: Open MPI's, MPICH's, Slurm's PMI.
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

// Longer messages are cut into pieces that MPI sends eagerly, as Open MPI does over TCP up to 64
// KiB. For longer ones it first asks the other side, and only makes progress while both poll: a
// computing process rarely polls, so 40 of 180 ms were not hidden that could have been.
constexpr std::size_t kLongest = 60 * 1024;

void check_mpi(int code, const char* what) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    fail<LostProcessError>("mpi: {}: {}", what, text);
}

// Larger tags are channels.
constexpr int kQuestion = 0, kAnswer = 1, kEnd = 2, kFirstChannel = 3;

class MpiUnderway final : public Underway {
public:
    MpiUnderway(std::span<const Sent> sent, std::span<const Received> received) {
        for (const Received& one : received) {
            for_each_piece(one.bytes, [&](std::byte* data, int count) {
                peers_.push_back(one.from);
                check_mpi(MPI_Irecv(data, count, MPI_BYTE, one.from, kFirstChannel + one.channel,
                                    MPI_COMM_WORLD, &requests_.emplace_back()),
                          "receiving");
            });
        }
        for (const Sent& one : sent) {
            for_each_piece(one.bytes, [&](const std::byte* data, int count) {
                peers_.push_back(one.to);
                check_mpi(MPI_Isend(data, count, MPI_BYTE, one.to, kFirstChannel + one.channel,
                                    MPI_COMM_WORLD, &requests_.emplace_back()),
                          "sending");
            });
        }
        done_.resize(requests_.size());
    }

    // Destroyed early after an error elsewhere: nothing may arrive in these buffers later.
    ~MpiUnderway() override {
        for (MPI_Request& request : requests_) {
            if (request == MPI_REQUEST_NULL) continue;
            MPI_Cancel(&request);
            MPI_Request_free(&request);
        }
    }

    bool advance() override {
        int done = 0;
        check_mpi(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done,
                               done_.data(), MPI_STATUSES_IGNORE),
                  "waiting");
        return done == MPI_UNDEFINED || std::all_of(requests_.begin(), requests_.end(), is_over);
    }

    std::vector<int> awaited() const override {
        std::vector<int> peers;
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            if (!is_over(requests_[i])) peers.push_back(peers_[i]);
        }
        return peers;
    }

private:
    static bool is_over(MPI_Request request) { return request == MPI_REQUEST_NULL; }

    template <class Byte, class F>
    static void for_each_piece(std::span<Byte> bytes, const F& f) {
        do {
            const std::size_t count = std::min(bytes.size(), kLongest);
            f(bytes.data(), static_cast<int>(count));
            bytes = bytes.subspan(count);
        } while (!bytes.empty());
    }

    std::vector<MPI_Request> requests_;
    std::vector<int> peers_;
    std::vector<int> done_;
};

class MpiCommunicator final : public Communicator {
public:
    MpiCommunicator() {
        int level = 0;
        require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) == MPI_SUCCESS &&
                    level >= MPI_THREAD_FUNNELED,
                "mpi: it does not support threads");
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        ask_hosts();
    }
    ~MpiCommunicator() override { MPI_Finalize(); }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string host_of(int process) const override {
        return hosts_.data() + kLongestName * static_cast<std::size_t>(process);
    }

private:
    static constexpr std::size_t kLongestName = MPI_MAX_PROCESSOR_NAME;

    // Fetched at the start, to name processes that no longer answer.
    void ask_hosts() {
        std::array<char, kLongestName> name{};
        int length = 0;
        MPI_Get_processor_name(name.data(), &length);
        hosts_.resize(kLongestName * static_cast<std::size_t>(size_));
        check_mpi(MPI_Allgather(name.data(), kLongestName, MPI_CHAR, hosts_.data(), kLongestName,
                                MPI_CHAR, MPI_COMM_WORLD),
                  "starting");
    }

    std::unique_ptr<Underway> start(std::span<const Sent> sent,
                                    std::span<const Received> received) override {
        return std::make_unique<MpiUnderway>(sent, received);
    }

    // Questions and answers are one number, which MPI sends eagerly; it distinguishes answers to
    // this question from late ones.
    void ask(std::span<const int> processes) override {
        ++question_;
        for (const int process : processes) say(process, question_, kQuestion);
    }

    std::vector<int> heard() override {
        while (const auto question = listen(kQuestion)) {
            say(question->first, question->second, kAnswer);
        }
        std::vector<int> answered;
        while (const auto answer = listen(kAnswer)) {
            if (answer->second == question_) answered.push_back(answer->first);
        }
        ending_ = ending_ || listen(kEnd);
        return answered;
    }

    bool are_ending() override { return ending_; }

    static void say(int process, int number, int tag) {
        check_mpi(MPI_Send(&number, 1, MPI_INT, process, tag, MPI_COMM_WORLD), "asking");
    }

    // A pending message with this tag: its sender and number.
    static std::optional<std::pair<int, int>> listen(int tag) {
        int there = 0, number = 0;
        MPI_Status status;
        check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status), "asking");
        if (there == 0) return std::nullopt;
        check_mpi(MPI_Recv(&number, 1, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE),
                  "asking");
        return std::pair(status.MPI_SOURCE, number);
    }

    int rank_ = 0;
    int size_ = 1;
    int question_ = 0;
    bool ending_ = false;
    std::vector<char> hosts_;
};

// Announces the end to all others, which would otherwise report this process as lost when it stops
// answering. A message not sent within a fifth of a second is abandoned, because its receiver may
// hang.
void say_end() {
    static int code = 0;
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<MPI_Request> requests;
    for (int p = 0; p < size; ++p) {
        if (p == rank) continue;
        MPI_Isend(&code, 1, MPI_INT, p, kEnd, MPI_COMM_WORLD, &requests.emplace_back());
    }
    for (int naps = 0, done = 0; done == 0 && naps < 200; ++naps) {
        if (MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                        MPI_STATUSES_IGNORE) != MPI_SUCCESS) {
            break;
        }
        if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace

bool has_mpi() { return true; }

std::unique_ptr<Communicator> join_processes() {
    const int launched = launched_size();
    if (launched <= 1) return std::make_unique<OneProcess>();
    auto all = std::make_unique<MpiCommunicator>();
    // Otherwise each process would take itself for the only one, and do the others' work.
    require(all->size() == launched,
            "mpirun started {} processes, but MPI finds {}: this mpirun belongs to a different MPI "
            "than this program was built with",
            launched, all->size());
    return all;
}

void abort_processes(int code) {
    int started = 0;
    MPI_Initialized(&started);
    if (started == 0) return;
    say_end();
    MPI_Abort(MPI_COMM_WORLD, code);
}

#else

bool has_mpi() { return false; }

std::unique_ptr<Communicator> join_processes() {
    require(launched_size() <= 1,
            "mpirun started {} processes, but this program was built without MPI: configure "
            "it with -DTAPESTRY_MPI=ON",
            launched_size());
    return std::make_unique<OneProcess>();
}

void abort_processes(int) {}

#endif

}  // namespace tapestry
