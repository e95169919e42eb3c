#include <tapestry/examples/options/options.h>

#include <tapestry/core/cpu.h>
#include <tapestry/core/error.h>
#include <tapestry/examples/options/help_text.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/examples/options/spelling.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/ops/fusion.h>

#include <CLI/CLI.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sstream>
#include <stdexcept>

namespace tapestry::cli {
namespace {

int complain(const std::string& program, int code, const std::string& message) {
    say_error(program, message);
    return code;
}

// If descriptor 0, 1 or 2 is closed, the next file opened would get its number, and printed text
// would end up in that file.
void open_standard_streams() {
    int lowest_free = -1;
    do {
        lowest_free = ::open("/dev/null", O_RDWR);
    } while (0 <= lowest_free && lowest_free <= STDERR_FILENO);
    if (lowest_free > STDERR_FILENO) ::close(lowest_free);
}

// "; did you mean train?" with the closest name valid here, or empty if none is close.
std::string suggestion(const CLI::App& at, const std::string& unknown) {
    std::size_t fewest = unknown.size() > 4 ? 3 : 2;  // this many mistakes are too many
    std::string nearest;
    const auto try_name = [&](const std::string& name) {
        const std::size_t mistakes = mistakes_between(unknown, name);
        if (mistakes >= fewest) return;
        fewest = mistakes;
        nearest = name;
    };
    for (const CLI::App* subcommand : at.get_subcommands({})) try_name(subcommand->get_name());
    for (const CLI::Option* option : at.get_options()) try_name(option->get_name());
    return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

// CLI11 reports missing arguments before unexpected ones: "tapestry trian" would yield "a
// subcommand is required".
std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
    std::string command = app.get_name();
    const CLI::App* at = &app;
    while (!at->get_subcommands().empty()) {
        at = at->get_subcommands().front();
        command += " " + at->get_name();
    }
    const auto unknown = app.remaining(true);
    std::string message = error.what();
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
        message = plain_mismatch(message);
    if (!unknown.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
        message = "The following argument was not expected: " + unknown.front();
    }
    if (!unknown.empty()) message += suggestion(*at, unknown.front());
    return fmt::format("{} (see {} --help)", message, command);
}

// "tapestry" or "tapestry bench" without more: the answer is the list of what there is.
bool asks_for_nothing(const CLI::App& app) {
    const CLI::App* at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
    return !at->get_subcommands({}).empty() && app.remaining_size(true) == 0 &&
           at->count_all() == at->count();
}

// "0..64" after the type in --help; empty if only typing errors are out of range.
template <class T>
std::string range_text(T low, T high, T unbounded) {
    return low <= 1 && high >= unbounded ? "" : fmt::format("{}..{}", low, high);
}

CLI::Validator whole_number_in(Bounds bounds) {
    return CLI::Range(bounds.low, bounds.high)
        .description(range_text(bounds.low, bounds.high, Bounds().high));
}

// Like CLI::Range for real numbers, but rejects NaN, which passes CLI::Range's comparisons.
CLI::Validator number_in(double low, double high) {
    const auto check = [low, high](std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool good = !text.empty() && *end == '\0' && value >= low && value <= high;
        return good ? "" : fmt::format("{} is not a number from {} to {}", text, low, high);
    };
    return {check, range_text(low, high, 1000.0)};
}

// CLI11 would accept -1 and values of more than 64 bits.
std::string seed_error(std::string& text) {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const bool good = error == std::errc{} && rest == end;
    return good ? "" : fmt::format("{} is not a whole number from 0 to 2^64 - 1", text);
}

// "--layers INT=4", "--out TEXT REQUIRED". CLI11 would also list the options that each one
// excludes; an error message reports those when they matter.
class Formatter : public CLI::Formatter {
public:
    Formatter() { column_width(kHelpNames); }

private:
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override {
        return fit_help(CLI::Formatter::make_help(app, std::move(name), mode));
    }

    std::string make_option_opts(const CLI::Option* option) const override {
        if (option->get_type_size() == 0) return "";  // a flag
        const std::string type = option->get_type_name(), value = option->get_default_str();
        std::string text = type.empty() ? "" : " " + type;
        if (!value.empty()) text += "=" + value;
        if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
        return option->get_required() ? text + " REQUIRED" : text;
    }
};

// Adds an option that shows its default.
template <class T>
CLI::Option& add(CLI::App& app, const std::string& name, T& value, const std::string& description) {
    return *app.add_option(name, value, description)->capture_default_str();
}

Option as_count(CLI::Option& option, Bounds bounds) {
    return Option(*option.check(whole_number_in(bounds))->transform(plain_number));
}

}  // namespace

// ---- one option ---------------------------------------------------------------------------------

Option Option::required() {
    option_->required();
    return *this;
}

Option Option::one_value() {
    option_->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    return *this;
}

Option Option::excludes(Option other) {
    option_->excludes(other.option_);
    return *this;
}

Option Option::needs(Option other) {
    option_->needs(other.option_);
    return *this;
}

Option Option::without_default() {
    option_->default_str("");
    return *this;
}

Option Option::group(const std::string& name) {
    option_->group(name);
    return *this;
}

Option Option::check(const std::string& type,
                     const std::function<std::string(const std::string&)>& f) {
    option_->check(CLI::Validator([f](std::string& text) { return f(text); }, type));
    return *this;
}

// ---- declaring ----------------------------------------------------------------------------------

Options::Options(const std::string& name, const std::string& description)
    : name_(name), root_(std::make_unique<CLI::App>(description, name)), app_(*root_) {
    app_.formatter(std::make_shared<Formatter>());  // also used by subcommands
}

Options::Options(CLI::App& app) : name_(app.get_name()), app_(app) {}

Options::~Options() = default;

Options& Options::subcommand(const std::string& name, const std::string& description) {
    app_.require_subcommand(1);
    CLI::App& app = *app_.add_subcommand(name, description);
    return *subcommands_.emplace_back(new Options(app));  // the constructor is private
}

void Options::version(const std::string& text) { app_.set_version_flag("--version", text); }

void Options::footer(const std::string& text) { app_.footer(text); }

void Options::example(const std::string& arguments, const std::string& more) {
    const std::string program =
        app_.get_parent() != nullptr ? app_.get_parent()->get_name() + " " : "";
    footer(fmt::format("For example:\n  {}{} {}{}{}", program, app_.get_name(), arguments,
                       more.empty() ? "" : "\n\n", more));
}

Option Options::flag(const std::string& name, bool& value, const std::string& description) {
    return Option(*app_.add_flag(name, value, description));
}

Option Options::text(const std::string& name, std::string& value, const std::string& description) {
    return Option(add(app_, name, value, description));
}

Option Options::text(const std::string& name, std::optional<std::string>& value,
                     const std::string& description) {
    return Option(*app_.add_option(name, value, description));
}

Option Options::texts(const std::string& name, std::vector<std::string>& values,
                      const std::string& description) {
    return Option(*app_.add_option(name, values, description));
}

Option Options::choice(const std::string& name, std::string& value,
                       const std::vector<std::string>& choices, const std::string& description) {
    return Option(*add(app_, name, value, description).check(CLI::IsMember(choices)));
}

Option Options::choice(const std::string& name, const std::string& value,
                       const std::vector<std::string>& choices,
                       const std::function<void(const std::string&)>& choose,
                       const std::string& description) {
    CLI::Option* option = app_.add_option_function<std::string>(name, choose, description);
    return Option(*option->default_str(value)->check(CLI::IsMember(choices)));
}

Option Options::bytes(const std::string& name, std::uint64_t& value,
                      const std::string& description) {
    CLI::Option& option = add(app_, name, value, description);
    option.transform(CLI::AsSizeValue(true).description(""))->transform(plain_number);
    return Option(*option.type_name("BYTES"));
}

Option Options::count(const std::string& name, std::int64_t& value, const std::string& description,
                      Bounds bounds) {
    return as_count(add(app_, name, value, description), bounds);
}

Option Options::count(const std::string& name, int& value, const std::string& description,
                      Bounds bounds) {
    return as_count(add(app_, name, value, description), bounds);
}

Option Options::count(const std::string& name, std::optional<std::int64_t>& value,
                      const std::string& description, Bounds bounds) {
    return as_count(*app_.add_option(name, value, description), bounds);
}

Option Options::counts(const std::string& name, std::vector<std::int64_t>& values,
                       const std::string& description, Bounds bounds) {
    return as_count(add(app_, name, values, description), bounds);
}

Option Options::number(const std::string& name, double& value, double low, double high,
                       const std::string& description) {
    return Option(*add(app_, name, value, description).check(number_in(low, high)));
}

Option Options::seed(std::uint64_t& value, const std::string& description) {
    CLI::Option& option = add(app_, "--seed", value, description);
    return Option(*option.check(CLI::Validator(seed_error, ""))->transform(plain_number));
}

Option Options::threads(int& value) {
    return count("--threads", value, "Threads; default: one per core", {1, 1024}).without_default();
}

void Options::require_any(const std::vector<std::string>& names,
                          const std::function<std::string()>& wanted) {
    app_.callback([this, names, wanted] {
        for (const std::string& name : names) {
            if (given(name)) return;
        }
        throw CLI::RequiredError(wanted ? wanted() : names.front());
    });
}

// ---- reading ------------------------------------------------------------------------------------

// CLI11's own lookup allocates inside a noexcept function.
CLI::Option* Options::find(const std::string& name) const {
    for (CLI::Option* option : app_.get_options()) {
        if (option->check_name(name)) return option;
    }
    return nullptr;
}

CLI::Option& Options::declared(const std::string& name) const {
    CLI::Option* option = find(name);
    if (option == nullptr) throw std::invalid_argument("unknown option " + name);
    return *option;
}

Option Options::option(const std::string& name) { return Option(declared(name)); }

bool Options::declares(const std::string& name) const { return find(name) != nullptr; }

bool Options::given(const std::string& name) const { return declared(name).count() > 0; }

std::vector<OptionValue> Options::values() const {
    std::vector<OptionValue> all;
    for (const CLI::Option* option : app_.get_options()) {
        if (option == app_.get_help_ptr()) continue;
        OptionValue& one = all.emplace_back();
        one.name = option->get_name();
        one.description = option->get_description();
        one.given = option->count() > 0;
        one.is_flag = option->get_items_expected_max() == 0;
        one.value = one.given ? option->results().front() : option->get_default_str();
        if (one.given) one.values = option->results();
        if (one.is_flag) one.value = one.given ? "yes" : "no";
    }
    return all;
}

const Options& Options::chosen() const {
    for (const auto& subcommand : subcommands_) {
        if (subcommand->app_.parsed()) return subcommand->chosen();
    }
    return *this;
}

int Options::parse_and_run(int argc, char** argv) {
    try {
        app_.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
        std::ostringstream said, none;
        const int code = app_.exit(success, said, none);
        print_help(said.str());
        return code;
    } catch (const CLI::ParseError& error) {
        if (asks_for_nothing(app_)) {
            print_help(app_.help());
            return kSuccess;
        }
        return complain(name_, kBadInput, what_is_wrong(app_, error));
    }
    current_isa();  // rejects a wrong TAPESTRY_ISA or _FUSE before any work
    fusion_enabled();
    const int code = chosen().action_();
    // Flush: output may still be in a buffer.
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (written || code == kInterrupted) return code;  // perhaps because the reader went away
    return complain(name_, code == kSuccess ? kBadInput : code, "the output could not be written");
}

namespace {

// A smaller stack would end the program by a signal, without a word.
void check_stack() {
    constexpr rlim_t kNeeded = 128 * 1024;
    struct rlimit limit {};
    if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kNeeded) return;
    fail("the stack is limited to {} kB, and must have at least {} (ulimit -s)",
         limit.rlim_cur / 1024, kNeeded / 1024);
}

}  // namespace

int Options::main(int argc, char** argv, const std::function<void(Options&)>& declare) {
    open_standard_streams();
    try {
        check_stack();
        if (declare) declare(*this);
        return parse_and_run(argc, argv);
    } catch (const DivergedError& error) {
        return complain(name_, kFailure, error.what());
    } catch (const Error& error) {
        return complain(name_, kBadInput, error.what());
    } catch (const std::bad_alloc&) {
        return complain(name_, kFailure, "out of memory");
    } catch (const std::exception& error) {
        return complain(name_, kFailure, error.what());
    }
}

}  // namespace tapestry::cli
