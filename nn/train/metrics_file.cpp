#include <tapestry/nn/train/metrics_file.h>

#include <tapestry/core/cpu.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/version.h>
#include <tapestry/nn/data/file_kind.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/train/training_run.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_write(const fs::path& path, int error) {
    fail<IoError>("cannot write {}: {}", shown(path), std::generic_category().message(error));
}

// Creates a new file: a link or a pipe of that name is replaced, not written to. It gets the
// permissions of `place`, the metrics that it will replace.
int create(const fs::path& path, const fs::path& place) {
    check_replaceable(path);
    std::error_code error;
    const fs::file_status before = fs::status(place, error);
    const auto mode =
        fs::is_regular_file(before) ? static_cast<mode_t>(before.permissions()) & 0777 : 0666;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_to_write(path, errno);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0) fail_to_write(path, errno);
    return file;
}

// A file with other hard links, such as a backup's, is copied, so the other name keeps its
// contents.
void make_alone(const fs::path& path) {
    std::error_code absent;
    if (fs::is_symlink(path, absent) || fs::hard_link_count(path, absent) <= 1 || absent) return;
    write_file_atomically(path, read_file(path));
}

int open_again(const fs::path& path) {
    check_replaceable(path);
    make_alone(path);
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) fail_to_write(path, errno);
    struct stat status {};
    const bool alone =
        ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink <= 1;
    if (alone) return file;
    ::close(file);
    fail<IoError>("cannot write {}: it must be a regular file with a single link", shown(path));
}

}  // namespace

std::string config_line(std::string_view event, const TrainingConfig& config, std::int64_t after) {
    JsonWriter line;
    line.object([&] {
        line.member("event", event);
        line.member("version", version());
        line.member("isa", name_of(current_isa()));
        line.member("after", after);
        line.member("config", [&] {
            const JsonTree on_one_line(to_json(config));
            line.object([&] { line.members_of(on_one_line.root().text()); });
        });
    });
    return line.text();
}

std::string metrics_line(const StepMetrics& m, double tokens_per_second) {
    JsonWriter line;
    line.object([&] {
        line.member("step", m.step);
        line.member("loss", m.loss);
        line.member("lr", m.lr);
        line.member("grad_norm", m.grad_norm);
        line.member("tokens_per_s", tokens_per_second);
        line.member("seconds", m.seconds);
        if (m.val_loss) line.member("val_loss", *m.val_loss);
        if (m.progress) line.member("progress", *m.progress);
        if (!m.grad_xxh3.empty()) line.member("grad_xxh3", m.grad_xxh3);
    });
    return line.text();
}

std::string end_line(const TrainingResult& r, const std::vector<std::string>& frozen,
                     std::optional<double> report_seconds) {
    JsonWriter line;
    line.object([&] {
        line.member("event", "end");
        line.member("step", r.last.step);
        line.member("loss", r.last.loss);
        line.member("seconds", r.last.seconds);
        line.member("tokens_per_s", r.tokens_per_second);
        line.member("of_peak", r.of_peak);
        line.member("interrupted", r.interrupted);
        if (r.val_loss) line.member("val_loss", *r.val_loss);
        if (!frozen.empty()) line.member("frozen", frozen);
        if (report_seconds) line.member("report_seconds", *report_seconds);
    });
    return line.text();
}

MetricsFile::MetricsFile(const fs::path& directory)
    : directory_(directory),
      name_(is_there(directory / "config.json") ? kNewMetricsName : kMetricsName),
      file_(create(path(), directory / kMetricsName)) {}

MetricsFile::MetricsFile(const fs::path& directory, const FileDigest& written)
    : directory_(directory), name_(kMetricsName), file_(open_again(path())) {
    const std::string text = read_file(path());
    const std::string_view begun = std::string_view(text).substr(0, written.bytes);
    checksum_.add(begun);
    bytes_ = begun.size();
    require<IoError>(digest() == written,
                     "{}: not what was saved: its first {} bytes have checksum {}; the checkpoint "
                     "knows {} with {}",
                     shown(path()), bytes_, checksum_.hex(), written.bytes, written.checksum);
    if (::ftruncate(file_.number(), static_cast<off_t>(bytes_)) != 0) fail_to_write(path(), errno);
    // Those of a run that began anew here and ended before it saved a model: readers prefer them.
    const fs::path unsaved = directory_ / kNewMetricsName;
    if (may_be_of_a_run(unsaved)) ::unlink(unsaved.c_str());
}

void MetricsFile::write(const std::string& json) {
    const std::string line = json + "\n";
    checksum_.add(std::string_view(line));
    pending_ += line;
    flush();
}

void MetricsFile::write_end(const std::string& json) {
    end_ = json + "\n";
    flush();
}

void MetricsFile::flush() {
    problem_ = {};
    const std::size_t lines = append(pending_, bytes_);
    bytes_ += lines;
    pending_.erase(0, lines);
    if (pending_.empty()) append(end_, bytes_);
}

// Returns the number of bytes that were written.
std::size_t MetricsFile::append(std::string_view text, std::uint64_t at) {
    std::size_t written = 0;
    while (written < text.size()) {
        const auto done = ::pwrite(file_.number(), text.data() + written, text.size() - written,
                                   static_cast<off_t>(at + written));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) {
            const int error = done < 0 ? errno : ENOSPC;
            problem_ = {fmt::format("cannot write {}: {}", shown(path()),
                                    std::generic_category().message(error)),
                        error == ENOSPC || error == EDQUOT};
            break;
        }
        written += static_cast<std::size_t>(done);
    }
    return written;
}

void MetricsFile::sync() const {
    if (::fdatasync(file_.number()) != 0 && errno != EINVAL) fail_to_write(path(), errno);
}

namespace {

// NaN and infinities are null in JSON.
double number_in(const JsonNode& line, const char* name) {
    const JsonNode found = line.at(name);
    if (found.is(JsonKind::null)) return std::numeric_limits<double>::quiet_NaN();
    require<IoError>(found.is(JsonKind::number), "\"{}\" must be a number, got {}", name,
                     found.shown());
    return found.get<double>();
}

JsonTree parse_line(std::string_view text) {
    try {
        return JsonTree(text);
    } catch (const JsonError&) {
        fail<IoError>("{} is not JSON", utf8::quoted(text, 60));
    }
}

// Not a step line but an event, such as the end of a run.
bool is_event(const JsonNode& line, std::string_view text) {
    require<IoError>(line.is(JsonKind::object), "{} is not a JSON object", utf8::quoted(text, 60));
    return line.find("event").has_value();
}

void add_line(Metrics& metrics, const JsonNode& line) {
    const double step = number_in(line, "step"), loss = number_in(line, "loss");
    require<IoError>(step == step, "\"step\" is null");
    require<IoError>(step >= 0 && step < 0x1p53, "\"step\" must be from 0 to 2^53, got {}", step);
    if (line.find("val_loss")) {
        metrics.val_losses.push_back(number_in(line, "val_loss"));
        metrics.eval_steps.push_back(step);
    }
    if (line.find("seconds")) metrics.seconds = number_in(line, "seconds");
    metrics.steps.push_back(step);
    metrics.losses.push_back(loss);
}

StepMetrics step_of(const JsonNode& line, std::int64_t tokens_per_step) {
    StepMetrics metrics{
        .step = line.count("step"),
        .loss = number_in(line, "loss"),
        .lr = number_in(line, "lr"),
        .grad_norm = number_in(line, "grad_norm"),
        .seconds = number_in(line, "seconds"),
        .step_seconds = static_cast<double>(tokens_per_step) / number_in(line, "tokens_per_s")};
    if (line.find("val_loss")) metrics.val_loss = number_in(line, "val_loss");
    if (line.find("progress")) metrics.progress = number_in(line, "progress");
    if (line.find("grad_xxh3")) metrics.grad_xxh3 = line.get<std::string>("grad_xxh3");
    return metrics;
}

// Calls add(line, text) for every step. A last line without a newline may be incomplete.
template <class Add>
void read_lines_so_far(const std::filesystem::path& file, const Add& add) {
    const std::string text = read_file(file);
    std::size_t number = 1;
    for (std::size_t begin = 0; begin < text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        try {
            const std::string_view written = std::string_view(text).substr(begin, end - begin);
            const JsonTree line = parse_line(written);
            if (!is_event(line.root(), written)) add(line.root(), written);
        } catch (const Error& error) {
            if (end < text.size()) {
                fail<IoError>("{}: line {}: {}", shown(file), number, error.what());
            }
        }
        begin = end + 1;
    }
}

// The same, of at least one step.
template <class Add>
void read_lines(const std::filesystem::path& file, const Add& add) {
    std::size_t steps = 0;
    read_lines_so_far(file, [&](const JsonNode& line, std::string_view text) {
        add(line, text);
        ++steps;
    });
    require<IoError>(steps > 0, "{}: contains no steps yet", shown(file));
}

}  // namespace

bool may_be_of_a_run(const std::filesystem::path& metrics) {
    const std::string beginning = beginning_of(metrics);
    return beginning.empty() || beginning.starts_with(R"({"event")") ||
           beginning.starts_with(R"({"step")");
}

Metrics read_metrics_so_far(const std::filesystem::path& file) {
    Metrics metrics;
    read_lines_so_far(file,
                      [&](const JsonNode& line, std::string_view) { add_line(metrics, line); });
    return metrics;
}

Metrics read_metrics(const std::filesystem::path& file) {
    Metrics metrics;
    read_lines(file, [&](const JsonNode& line, std::string_view) { add_line(metrics, line); });
    return metrics;
}

std::vector<StepMetrics> read_steps(const std::filesystem::path& file,
                                    std::int64_t tokens_per_step) {
    std::vector<StepMetrics> steps;
    read_lines(file, [&](const JsonNode& line, std::string_view) {
        steps.push_back(step_of(line, tokens_per_step));
    });
    return steps;
}

std::string lines_of_steps(const std::filesystem::path& file, std::int64_t last) {
    std::string lines;
    read_lines(file, [&](const JsonNode& line, std::string_view text) {
        if (number_in(line, "step") <= static_cast<double>(last)) lines.append(text) += '\n';
    });
    return lines;
}

namespace {

// Calls see(line) for every event, in order. Lines of steps are not parsed.
template <class See>
void see_events(const std::filesystem::path& file, const See& see) {
    const std::string text = read_file(file);
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
        end = std::min(text.find('\n', begin), text.size());
        const std::string_view written = std::string_view(text).substr(begin, end - begin);
        if (!written.starts_with("{\"event\"")) continue;
        try {
            const JsonTree line(written);
            see(line.root());
        } catch (const JsonError&) {  // incomplete: the run was killed, or is at work
        }
    }
}

}  // namespace

std::string read_run_config(const std::filesystem::path& file) {
    std::string config;
    see_events(file, [&](const JsonNode& line) {
        if (const auto found = line.find("config")) config = found->text();
    });
    return config;
}

std::optional<RunEnd> read_run_end(const std::filesystem::path& file) {
    std::optional<RunEnd> ended;
    see_events(file, [&](const JsonNode& line) {
        if (line.get<std::string>("event") != "end") return;
        ended = {line.get<bool>("interrupted"), line.get<double>("seconds")};
    });
    return ended;
}

std::filesystem::path latest_metrics(const std::filesystem::path& directory) {
    std::error_code ignored;
    const std::filesystem::path unsaved = directory / kNewMetricsName;
    if (std::filesystem::exists(unsaved, ignored)) return unsaved;
    return SavedFiles(directory).path(kMetricsName);
}

}  // namespace tapestry
