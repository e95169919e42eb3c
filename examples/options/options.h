// The command line of a program, its subcommands and their options, declared by typed calls.
//
// CLI11 does the work, but takes fifteen seconds to compile, so only options.cpp includes it, for
// the `tapestry` command, the small programs and the mutation suite. Read next: cli/sample.cpp.
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

/// Exit codes. kBadInput covers wrong usage as well.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kInconclusive = 3;  ///< only from `tapestry gradcheck`
inline constexpr int kInterrupted = 130;

/// An inclusive range. The upper bound catches typing errors, not large requests: a request for too
/// much memory fails later, with its size.
struct Bounds {
    std::int64_t low = 1;
    std::int64_t high = 1000000000;
};

/// A declared option, for settings made after its declaration.
class Option {
public:
    explicit Option(CLI::Option& option) : option_(&option) {}
    Option required();
    /// Takes one value each time that it is given, for texts().
    Option one_value();
    Option excludes(Option other);
    Option needs(Option other);
    /// Hides the default in help, because the description gives it.
    Option without_default();
    /// The heading below which --help lists it; otherwise "Options".
    Option group(const std::string& name);
    /// Rejects a value for which f returns a message, before anything runs.
    Option check(const std::string& type, const std::function<std::string(const std::string&)>& f);

private:
    CLI::Option* option_;
};

/// The value of an option after parsing.
struct OptionValue {
    std::string name;   ///< "--steps"
    std::string value;  ///< the first, or the default; "yes" or "no" for a flag; empty if none
    std::vector<std::string> values = {};  ///< all values, as given
    std::string description;
    bool given = false;
    bool is_flag = false;
};

/// A program or one of its subcommands. Options are read into the caller's variables, which must
/// live until main() returns; their initial values are the defaults shown by help. Names begin with
/// "--", which a short one may precede ("-n,--samples"); any other name declares a positional
/// argument.
class Options {
public:
    Options(const std::string& name, const std::string& description);
    ~Options();
    Options(const Options&) = delete;
    Options& operator=(const Options&) = delete;

    /// Adds a subcommand. The user must choose one.
    Options& subcommand(const std::string& name, const std::string& description);
    /// Sets the action to run after parsing. It returns the exit code.
    void run(std::function<int()> action) { action_ = std::move(action); }
    /// Sets the text that --version prints.
    void version(const std::string& text);
    /// Sets the last lines of --help.
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
    /// The same for a value that is not a string: calls `choose` with the name given, if any.
    Option choice(const std::string& name, const std::string& value,
                  const std::vector<std::string>& choices,
                  const std::function<void(const std::string&)>& choose,
                  const std::string& description);
    /// A size in bytes: 1500, 100MB, 2GiB.
    Option bytes(const std::string& name, std::uint64_t& value, const std::string& description);
    /// A whole number that counts something.
    Option count(const std::string& name, std::int64_t& value, const std::string& description,
                 Bounds bounds = {});
    Option count(const std::string& name, int& value, const std::string& description,
                 Bounds bounds = {});
    Option count(const std::string& name, std::optional<std::int64_t>& value,
                 const std::string& description, Bounds bounds = {});
    Option counts(const std::string& name, std::vector<std::int64_t>& values,
                  const std::string& description, Bounds bounds = {});
    /// A real number from low to high; NaN is rejected.
    Option number(const std::string& name, double& value, double low, double high,
                  const std::string& description);
    /// --seed: a whole number from 0 to 2^64 - 1.
    Option seed(std::uint64_t& value, const std::string& description);
    /// --threads.
    Option threads(int& value);
    /// Requires at least one of these; an error names the first, or what `wanted` says.
    void require_any(const std::vector<std::string>& names,
                     const std::function<std::string()>& wanted = {});

    const std::string& name() const { return name_; }
    /// Throws std::invalid_argument if `name` was never declared.
    Option option(const std::string& name);
    bool declares(const std::string& name) const;
    bool given(const std::string& name) const;
    /// All options except --help, in the order of declaration.
    std::vector<OptionValue> values() const;

    /// Parses the command line and runs the chosen action. Calls `declare` first, if given, for
    /// options whose defaults may throw. Any exception becomes one line on stderr and an exit code:
    /// 1 for a diverged training run or an unexpected error, 2 for a tapestry::Error or a wrong
    /// command line.
    int main(int argc, char** argv, const std::function<void(Options&)>& declare = {});

private:
    explicit Options(CLI::App& app);
    CLI::Option* find(const std::string& name) const;
    CLI::Option& declared(const std::string& name) const;
    int parse_and_run(int argc, char** argv);
    const Options& chosen() const;

    std::string name_;
    std::unique_ptr<CLI::App> root_;  // owned by the program; null in a subcommand
    CLI::App& app_;
    std::vector<std::unique_ptr<Options>> subcommands_;
    std::function<int()> action_;
};

}  // namespace tapestry::cli
