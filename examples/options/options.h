// The command line of a program, its subcommands and their options, declared by typed calls.
//
// CLI11 does the work and takes fifteen seconds to parse; options.cpp alone includes it, for the
// `tapestry` command, the small programs, and the mutation suite. Read next: cli/sample.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tapestry::cli {

/// Exit codes. Wrong use and bad input are 2.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kInconclusive = 3;  ///< `tapestry gradcheck` alone
inline constexpr int kInterrupted = 130;

/// Inclusive. The upper bound catches typing errors, not big wishes: what needs more memory than
/// there is is refused with its size.
struct Bounds {
    std::int64_t low = 1;
    std::int64_t high = 1000000000;
};

/// A declared option, for what is said of it afterwards.
class Option {
public:
    explicit Option(CLI::Option& option) : option_(&option) {}
    Option required();
    Option excludes(Option other);
    Option needs(Option other);
    /// Help says nothing of a default, for the description does.
    Option without_default();
    /// Refuses a value for which f returns a message, before anything runs.
    Option check(const std::string& type, const std::function<std::string(const std::string&)>& f);

private:
    CLI::Option* option_;
};

/// What became of an option on the command line.
struct OptionValue {
    std::string name;   ///< "--steps"
    std::string value;  ///< the first, or the default; "yes" or "no" of a flag; empty: none
    std::vector<std::string> values = {};  ///< all, as written
    std::string description;
    bool given = false;
    bool is_flag = false;
};

/// A program, or one of its subcommands. What options are read into is the caller's, and must live
/// until main() returns; its values are the defaults that help shows. Names begin with "--"; those
/// that do not are positional.
class Options {
public:
    Options(const std::string& name, const std::string& description);
    ~Options();
    Options(const Options&) = delete;
    Options& operator=(const Options&) = delete;

    /// One of its subcommands has to be chosen.
    Options& subcommand(const std::string& name, const std::string& description);
    /// What to do, once the options are read. Returns the exit code.
    void run(std::function<int()> action) { action_ = std::move(action); }
    /// --version prints it.
    void version(const std::string& text);
    /// The last lines of --help.
    void footer(const std::string& text);
    /// The same: how it is called, with these arguments, and then more.
    void example(const std::string& arguments, const std::string& more = "");

    Option flag(const std::string& name, bool& value, const std::string& description);
    Option text(const std::string& name, std::string& value, const std::string& description);
    Option text(const std::string& name, std::optional<std::string>& value,
                const std::string& description);
    Option texts(const std::string& name, std::vector<std::string>& values,
                 const std::string& description);
    Option choice(const std::string& name, std::string& value,
                  const std::vector<std::string>& choices, const std::string& description);
    /// The same for a value that is no text: `choose` is told which it is to be, if any is given.
    Option choice(const std::string& name, const std::string& value,
                  const std::vector<std::string>& choices,
                  const std::function<void(const std::string&)>& choose,
                  const std::string& description);
    /// A size in bytes: 1500, 100MB, 2GiB.
    Option bytes(const std::string& name, std::uint64_t& value, const std::string& description);
    /// Whole numbers that something is counted in.
    Option count(const std::string& name, std::int64_t& value, const std::string& description,
                 Bounds bounds = {});
    Option count(const std::string& name, int& value, const std::string& description,
                 Bounds bounds = {});
    Option count(const std::string& name, std::optional<std::int64_t>& value,
                 const std::string& description, Bounds bounds = {});
    Option counts(const std::string& name, std::vector<std::int64_t>& values,
                  const std::string& description, Bounds bounds = {});
    /// A real number from low to high, which NaN is not.
    Option number(const std::string& name, double& value, double low, double high,
                  const std::string& description);
    /// --seed: a whole number from 0 to 2^64 - 1.
    Option seed(std::uint64_t& value, const std::string& description);
    /// --threads.
    Option threads(int& value);
    /// One of these has to be given; the first is the one that the message names.
    void require_any(const std::vector<std::string>& names);

    const std::string& name() const { return name_; }
    /// Throws std::invalid_argument for a name that was never declared.
    Option option(const std::string& name);
    bool declares(const std::string& name) const;
    bool given(const std::string& name) const;
    /// All options in the order of their declaration, but --help.
    std::vector<OptionValue> values() const;

    /// Reads the command line and runs what it chose, having called `declare`, if it is there, for
    /// options whose defaults may throw. What any of them throws becomes one line on stderr and an
    /// exit code: 1 for a training that diverged and for what nobody expected, 2 for a
    /// tapestry::Error and for a command line that is wrong.
    int main(int argc, char** argv, const std::function<void(Options&)>& declare = {});

private:
    explicit Options(CLI::App& app);
    CLI::Option* find(const std::string& name) const;
    CLI::Option& declared(const std::string& name) const;
    int parse_and_run(int argc, char** argv);
    const Options& chosen() const;

    std::string name_;
    std::unique_ptr<CLI::App> root_;  // of the program; null in a subcommand
    CLI::App& app_;
    std::vector<std::unique_ptr<Options>> subcommands_;
    std::function<int()> action_;
};

}  // namespace tapestry::cli
