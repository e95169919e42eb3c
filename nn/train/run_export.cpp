#include <tapestry/nn/train/run_export.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/core/system_call.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/recipe.h>

#include <fmt/core.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>

namespace tapestry {

namespace fs = std::filesystem;

// ---- CSV ----------------------------------------------------------------------------------------

std::string csv_line(const std::vector<std::string>& fields) {
    std::string line;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (i > 0) line += ',';
        if (fields[i].find_first_of(",\"\r\n") == std::string::npos) {
            line += fields[i];
            continue;
        }
        line += '"';
        for (const char c : fields[i]) line += c == '"' ? "\"\"" : std::string(1, c);
        line += '"';
    }
    return line + "\n";
}

std::string csv_number(double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; }

std::string steps_to_csv(const std::vector<fs::path>& runs) {
    std::string text =
        csv_line({"run", "step", "loss", "lr", "grad_norm", "tokens_per_s", "seconds", "val_loss"});
    for (const fs::path& run : runs) {
        if (read_metrics_so_far(latest_metrics(run)).steps.empty()) continue;
        for (const StepMetrics& m : read_steps(latest_metrics(run), 1)) {  // 1 / tokens_per_s
            text += csv_line({run.string(), std::to_string(m.step), csv_number(m.loss),
                              csv_number(m.lr), csv_number(m.grad_norm),
                              fmt::format("{:.6g}", 1 / m.step_seconds), csv_number(m.seconds),
                              m.val_loss ? csv_number(*m.val_loss) : ""});
        }
    }
    return text;
}

// ---- TensorBoard --------------------------------------------------------------------------------

namespace {

// Reflected polynomial 0x1EDC6F41, a table of the remainders of all bytes.
constexpr std::array<std::uint32_t, 256> kRemainders = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t rest = i;
        for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) * 0x82f63b78U);
        table[i] = rest;
    }
    return table;
}();

template <class T>
void append_bytes(std::string& to, T number) {
    for (std::size_t i = 0; i < sizeof(T); ++i) to += static_cast<char>(number >> (8 * i) & 0xff);
}

// Protobuf's numbers of variable length: seven bits per byte, the lowest first.
void append_varint(std::string& to, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) to += static_cast<char>((number & 0x7f) | 0x80);
    to += static_cast<char>(number);
}

enum WireType : std::uint64_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void append_key(std::string& to, std::uint64_t field, WireType type) {
    append_varint(to, field << 3 | type);
}

void append_text(std::string& to, std::uint64_t field, std::string_view text) {
    append_key(to, field, bytes);
    append_varint(to, text.size());
    to += text;
}

std::string event_at(double wall_time, std::int64_t step) {
    std::string event;
    append_key(event, 1, fixed64);
    append_bytes(event, std::bit_cast<std::uint64_t>(wall_time));
    append_key(event, 2, varint);
    append_varint(event, static_cast<std::uint64_t>(step));
    return event;
}

void append_value(std::string& summary, std::string_view tag, double number) {
    std::string value;
    append_text(value, 1, tag);
    append_key(value, 2, fixed32);
    append_bytes(value, std::bit_cast<std::uint32_t>(static_cast<float>(number)));
    append_text(summary, 1, value);
}

std::uint32_t masked_crc(std::string_view data) {
    return std::rotr(crc32c(data), 15) + 0xa282ead8U;
}

// A run's file does not say when it began; its last line was written last.
double began_at(const fs::path& metrics, double seconds) {
    struct stat status {};
    if (::stat(metrics.c_str(), &status) != 0) {
        const int error = errno;
        fail_to("read", shown(metrics), error);
    }
    return static_cast<double>(status.st_mtime) - seconds;
}

// Names for the folders of runs: the last parts of their paths, or all parts if these are equal.
std::vector<std::string> folder_names(const std::vector<fs::path>& runs) {
    std::vector<std::string> names, whole;
    for (const fs::path& run : runs) {
        const fs::path full = absolute_path(run).lexically_normal();
        names.push_back(last_name(full));
        whole.push_back(full.relative_path().string());
    }
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() ? names : whole;
}

fs::path write_event_file(const fs::path& run, const fs::path& directory) {
    const fs::path metrics = latest_metrics(run);
    const std::vector<StepMetrics> steps = read_steps(metrics, 1);
    const double began = std::floor(began_at(metrics, steps.back().seconds));
    make_directories(directory);
    fs::path file = directory / "events.out.tfevents.tapestry";  // replaced by the next export
    write_file_atomically(file, to_event_file(steps, began));
    return file;
}

}  // namespace

std::uint32_t crc32c(std::string_view data) {
    std::uint32_t rest = 0xffffffffU;
    for (const char c : data) {
        rest = (rest >> 8) ^ kRemainders[(rest ^ static_cast<unsigned char>(c)) & 0xff];
    }
    return ~rest;
}

std::string tfrecord(std::string_view data) {
    std::string record;
    append_bytes(record, static_cast<std::uint64_t>(data.size()));
    append_bytes(record, masked_crc(record));
    record += data;
    append_bytes(record, masked_crc(data));
    return record;
}

std::string to_event_file(std::span<const StepMetrics> steps, double began) {
    std::string first = event_at(began, 0);
    append_text(first, 3, "brain.Event:2");
    std::string file = tfrecord(first);
    for (const StepMetrics& m : steps) {
        std::string summary;
        append_value(summary, "loss", m.loss);
        append_value(summary, "lr", m.lr);
        append_value(summary, "grad_norm", m.grad_norm);
        if (m.val_loss) append_value(summary, "val_loss", *m.val_loss);
        std::string event = event_at(began + m.seconds, m.step);
        append_text(event, 5, summary);
        file += tfrecord(event);
    }
    return file;
}

std::vector<fs::path> write_event_files(const std::vector<fs::path>& runs, const fs::path& out) {
    const std::vector<std::string> names = folder_names(runs);
    std::vector<fs::path> files;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (read_metrics_so_far(latest_metrics(runs[i])).steps.empty()) continue;
        files.push_back(write_event_file(runs[i], out / names[i]));
    }
    return files;
}

}  // namespace tapestry
