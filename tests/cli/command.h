// Runs the built command like a user: in a separate process and directory, capturing both outputs
// and the exit code. check_refused() checks how bad input is reported.
//
// Read next: usage_test.cpp, the simplest of these tests.
#pragma once

#include <tapestry/tests/core/scratch.h>

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tapestry::test {

using Arguments = std::vector<std::string>;

/// The result of a command.
struct Outcome {
    int code = -1;  ///< exit code, or -signal
    std::string out;
    std::string err;
    long peak_kilobytes = 0;       ///< peak resident memory
    double processor_seconds = 0;  ///< what it computed, however long it waited for a processor
};

struct Surroundings {
    std::map<std::string, std::string> environment = {};  ///< added to a clean one
    long file_size_limit = -1;                            ///< RLIMIT_FSIZE in bytes
    long address_space_limit = -1;                        ///< RLIMIT_AS in bytes
    long stack_limit = -1;                                ///< RLIMIT_STACK in bytes
    bool as_nobody = false;                               ///< see can_become_nobody()
    bool terminal = false;         ///< stdout and stderr are one terminal, captured in Outcome::out
    std::string stdin_from = {};   ///< a path; empty: nothing to read
    std::string stdout_to = {};    ///< a path
    std::string stderr_to = {};    ///< a path
    std::vector<int> closed = {};  ///< which of the descriptors 0 to 2
    std::size_t read_at_most = std::string::npos;  ///< then closes the pipe
    unsigned seconds = 600;                        ///< killed after this time: it hangs
};

/// Is Surroundings::terminal available? Not in a container without /dev/pts.
bool has_terminals();

/// Is Surroundings::as_nobody possible? It needs root's rights, in a user namespace that user, and
/// a directory for temporary files that it can enter.
bool can_become_nobody();
inline constexpr const char* kNoNobody =
    "only root can become nobody, where that user can enter TMPDIR";

/// A running command. Killed after Surroundings::seconds, so a test cannot hang.
class Process {
public:
    Process(const Arguments& arguments, const std::filesystem::path& directory,
            const Surroundings& surroundings = {});
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void send(int signal) const;
    bool has_ended() const;
    Outcome wait();

private:
    void start_child(const Arguments& arguments, const Surroundings& surroundings, int out,
                     int err);

    std::filesystem::path directory_;
    std::size_t read_at_most_;
    int out_ = -1;
    int err_ = -1;
    pid_t pid_ = -1;
};

/// A directory to run commands in.
class Place : public Scratch {
public:
    Outcome run(const Arguments& arguments, const Surroundings& surroundings = {}) const {
        return Process(arguments, path(), surroundings).wait();
    }
};

/// {"train", "--text", "t.txt", "--out", "m", ...}: a tiny model, twenty steps. Options in `more`
/// replace the defaults.
Arguments tiny_training(const Arguments& more = {});

/// Concatenates the arguments.
Arguments operator+(Arguments first, const Arguments& second);

/// About `characters` characters of simple English.
std::string simple_text(std::size_t characters = 2000);

/// Copies a tiny trained model to directory `to`; its vocabulary is that of simple_text().
void put_model(const std::filesystem::path& to);

/// Does the model in `directory` still load and sample?
bool samples(const Place& place, const std::string& directory);

/// Expects exit code `code` and a single line on stderr that starts with "tapestry: " and contains
/// `words`.
void check_refused(const Outcome& outcome, const std::string& words, int code = 2);

/// Expects exit code 0 and nothing on stderr.
void check_done(const Outcome& outcome);

/// Waits up to five minutes for `condition`; returns whether it became true.
bool wait_until(const std::function<bool()>& condition);

/// Splits into lines, without their ends.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace tapestry::test
