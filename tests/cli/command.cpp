#include <tapestry/tests/cli/command.h>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

namespace tapestry::test {
namespace {

namespace fs = std::filesystem;

constexpr int kCannotStart = 125;
constexpr unsigned kNobody = 65534;

struct Pipe {
    int read = -1;
    int write = -1;
};

Pipe new_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("pipe2");
    return {ends[0], ends[1]};
}

// Both are -1 if no terminal is available.
Pipe new_terminal() {
    Pipe ends;
    if (::openpty(&ends.read, &ends.write, nullptr, nullptr, nullptr) != 0) return {};
    ::fcntl(ends.read, F_SETFD, FD_CLOEXEC);
    ::fcntl(ends.write, F_SETFD, FD_CLOEXEC);
    return ends;
}

// The environment without this project's variables; one thread, because the tests are small.
std::vector<std::string> environment_for(const Surroundings& surroundings) {
    std::map<std::string, std::string> variables{{"TAPESTRY_THREADS", "1"}, {"NO_COLOR", "1"}};
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const auto name = text.substr(0, text.find('='));
        if (!name.starts_with("TAPESTRY_")) variables[name] = text.substr(name.size() + 1);
    }
    for (const auto& [name, value] : surroundings.environment) variables[name] = value;
    std::vector<std::string> entries;
    for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
    return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

bool become_nobody() {
    return ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
}

// Only calls that are safe between fork and exec. The program is opened before giving up root's
// rights: other users may not be able to enter its directory.
bool prepare_child(const Surroundings& surroundings) {
    for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        std::signal(signal, SIG_DFL);
    }
    for (const int descriptor : surroundings.closed) ::close(descriptor);
    ::alarm(surroundings.seconds);
    if (surroundings.file_size_limit >= 0) {
        const auto bytes = static_cast<rlim_t>(surroundings.file_size_limit);
        const rlimit limit{bytes, bytes};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    }
    if (surroundings.address_space_limit >= 0) {
        const auto bytes = static_cast<rlim_t>(surroundings.address_space_limit);
        const rlimit limit{bytes, bytes};
        if (::setrlimit(RLIMIT_AS, &limit) != 0) return false;
    }
    if (surroundings.stack_limit >= 0) {
        const auto bytes = static_cast<rlim_t>(surroundings.stack_limit);
        const rlimit limit{bytes, bytes};
        if (::setrlimit(RLIMIT_STACK, &limit) != 0) return false;
    }
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    return !surroundings.as_nobody || become_nobody();
}

void move_to(int from, int to) {
    if (::dup2(from, to) < 0) ::_exit(kCannotStart);
}

// Appends the available output to `text`; false at the end. A terminal ends with EIO.
bool read_some(int from, std::string& text, std::size_t at_most) {
    std::array<char, 65536> buffer{};
    const auto got = ::read(from, buffer.data(), std::min(buffer.size(), at_most - text.size()));
    if (got < 0 && errno == EINTR) return true;
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0;
}

void close_once(int& descriptor) {
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
}

}  // namespace

bool has_terminals() {
    const Pipe ends = new_terminal();
    ::close(ends.read);
    ::close(ends.write);
    return ends.read >= 0;
}

bool can_become_nobody() {
    const fs::path temporary = fs::temp_directory_path();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(become_nobody() && ::access(temporary.c_str(), X_OK) == 0 ? 0 : 1);
    int status = 1;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

Process::Process(const Arguments& arguments, const fs::path& directory,
                 const Surroundings& surroundings)
    : directory_(directory), read_at_most_(surroundings.read_at_most) {
    Pipe out = surroundings.terminal ? new_terminal() : new_pipe();
    Pipe err = new_pipe();
    if (!surroundings.stdout_to.empty()) {
        ::close(out.write);
        out.write = ::open(surroundings.stdout_to.c_str(), O_WRONLY | O_CLOEXEC);
    }
    if (!surroundings.stderr_to.empty()) {
        ::close(err.write);
        err.write = ::open(surroundings.stderr_to.c_str(), O_WRONLY | O_CLOEXEC);
    }
    start_child(arguments, surroundings, out.write, surroundings.terminal ? out.write : err.write);
    ::close(out.write);
    ::close(err.write);
    out_ = out.read;
    err_ = err.read;
}

void Process::start_child(const Arguments& arguments, const Surroundings& surroundings, int out,
                          int err) {
    std::vector<std::string> words{"tapestry"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> environment = environment_for(surroundings);
    const std::vector<char*> argv = pointers_to(words);
    const std::vector<char*> envp = pointers_to(environment);
    const int program = ::open(TAPESTRY_COMMAND, O_RDONLY | O_CLOEXEC);
    const std::string input =
        surroundings.stdin_from.empty() ? "/dev/null" : surroundings.stdin_from;
    const int nothing = ::open(input.c_str(), O_RDONLY | O_CLOEXEC);
    pid_ = ::fork();
    if (pid_ == 0) {
        if (::chdir(directory_.c_str()) != 0) ::_exit(kCannotStart);
        move_to(nothing, STDIN_FILENO);
        move_to(out, STDOUT_FILENO);
        move_to(err, STDERR_FILENO);
        if (prepare_child(surroundings)) ::fexecve(program, argv.data(), envp.data());
        ::_exit(kCannotStart);
    }
    ::close(program);
    ::close(nothing);
}

Process::~Process() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        wait();
    }
}

void Process::send(int signal) const { ::kill(pid_, signal); }

bool Process::has_ended() const {
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
    return ended.si_pid == pid_;
}

Outcome Process::wait() {
    Outcome outcome;
    while (out_ >= 0 || err_ >= 0) {
        std::array<pollfd, 2> ends{{{out_, POLLIN, 0}, {err_, POLLIN, 0}}};
        if (::poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) break;
        if (ends[0].revents != 0 && !read_some(out_, outcome.out, read_at_most_)) close_once(out_);
        if (ends[1].revents != 0 && !read_some(err_, outcome.err, std::string::npos)) {
            close_once(err_);
        }
    }
    int status = 0;
    rusage used{};
    while (::wait4(pid_, &status, 0, &used) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    outcome.peak_kilobytes = used.ru_maxrss;
    for (const timeval& t : {used.ru_utime, used.ru_stime}) {
        outcome.processor_seconds +=
            static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    }
    return outcome;
}

Arguments operator+(Arguments first, const Arguments& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

Arguments tiny_training(const Arguments& more) {
    const std::vector<Arguments> defaults{
        {"--text", "t.txt"}, {"--out", "m"},          {"--layers", "1"},
        {"--heads", "2"},    {"--dim", "16"},         {"--context", "16"},
        {"--batch", "2"},    {"--eval-batches", "2"}, {"--steps", "20"}};
    const auto given = [&more](const std::string& option) {
        return std::find(more.begin(), more.end(), option) != more.end();
    };
    Arguments arguments{"train"};
    for (const Arguments& option : defaults) {
        if (!given(option[0])) arguments = arguments + option;
    }
    if (!given("--resume") && !given("--overwrite")) arguments.emplace_back("--overwrite");
    return arguments + more;
}

std::string simple_text(std::size_t characters) {
    const std::string sentences =
        "The cat sat on the mat. The dog ran to the cat.\nWho was it, said the dog? It was me!\n";
    std::string text;
    while (text.size() < characters) text += sentences;
    return text.substr(0, characters);
}

void put_model(const fs::path& to) {
    static const Place place;
    static const bool trained = [] {
        spill(place / "t.txt", simple_text());
        return place.run(tiny_training()).code == 0;
    }();
    REQUIRE(trained);
    fs::create_directories(to);
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
        fs::copy_file(place / "m" / name, to / name, fs::copy_options::overwrite_existing);
    }
}

bool samples(const Place& place, const std::string& directory) {
    const Outcome outcome = place.run({"sample", "--model", directory, "--tokens", "5"});
    INFO("stderr: " << outcome.err);
    CHECK_EQ(outcome.code, 0);
    return outcome.code == 0 && outcome.out.size() >= 6;
}

void check_refused(const Outcome& outcome, const std::string& words, int code) {
    INFO("stdout: " << outcome.out);
    INFO("stderr: " << outcome.err);
    INFO("wanted: " << words);
    CHECK_EQ(outcome.code, code);
    CHECK_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
    CHECK(outcome.err.starts_with("tapestry: "));
    CHECK(outcome.err.ends_with("\n"));
    CHECK(outcome.err.find(words) != std::string::npos);
}

void check_done(const Outcome& outcome) {
    INFO("stdout: " << outcome.out);
    CHECK_EQ(outcome.err, "");
    CHECK_EQ(outcome.code, 0);
}

bool wait_until(const std::function<bool()>& condition) {
    for (int i = 0; i < 30'000; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

}  // namespace tapestry::test
