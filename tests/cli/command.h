// Runs the built command as a user would: in a process of its own, in a folder of its own, with
// both outputs and the exit code caught. What a bad input must look like is in check_refused().
//
// Read next: usage_test.cpp, the plainest of the rooms.
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

/// How a command ended.
struct Outcome {
    int code = -1;  ///< exit code, or -signal
    std::string out;
    std::string err;
    long peak_kilobytes = 0;  ///< of memory really used
};

struct Surroundings {
    std::map<std::string, std::string> environment = {};  ///< on top of a clean one
    long file_size_limit = -1;                            ///< RLIMIT_FSIZE in bytes
    long address_space_limit = -1;                        ///< RLIMIT_AS in bytes
    bool as_nobody = false;                               ///< gives up root's rights; needs them
    bool terminal = false;         ///< stdout and stderr are one terminal, in Outcome::out
    std::string stdout_to = {};    ///< a path
    std::string stderr_to = {};    ///< a path
    std::vector<int> closed = {};  ///< of the descriptors 0 to 2
    std::size_t read_at_most = std::string::npos;  ///< then stdout's reader goes away
    unsigned seconds = 120;  ///< after which it is killed; the sanitizers are slow
};

/// Can Surroundings::terminal be had? Not in a container without /dev/pts.
bool has_terminals();

/// A command that is running. Killed after Surroundings::seconds: nothing may hang.
class Process {
public:
    Process(const Arguments& arguments, const std::filesystem::path& directory,
            const Surroundings& surroundings = {});
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void send(int signal) const;
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

/// A folder to run commands in.
class Place : public Scratch {
public:
    Outcome run(const Arguments& arguments, const Surroundings& surroundings = {}) const {
        return Process(arguments, path(), surroundings).wait();
    }
};

/// {"train", "--text", "t.txt", "--out", "m", ...}: a tiny model, twenty steps. What is in `more`
/// takes the place of the same option there.
Arguments tiny_training(const Arguments& more = {});

/// first and then second.
Arguments operator+(Arguments first, const Arguments& second);

/// About `characters` characters of simple English.
std::string simple_text(std::size_t characters = 2000);

/// Copies a tiny trained model to directory `to`; it knows the characters of simple_text().
void put_model(const std::filesystem::path& to);

/// Whether the model at `directory` still loads and writes.
bool samples(const Place& place, const std::string& directory);

/// Exit code `code`, nothing but one line on stderr, beginning with "tapestry: ", holding `words`.
void check_refused(const Outcome& outcome, const std::string& words, int code = 2);

/// Exit code 0 and nothing on stderr.
void check_done(const Outcome& outcome);

/// Waits until `condition` holds, half a minute at the most; whether it does.
bool wait_until(const std::function<bool()>& condition);

/// The lines, without their ends.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace tapestry::test
