#include <tapestry/nn/data/npy.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/data/npy_header.h>
#include <tapestry/ops/check.h>

#include <fstream>
#include <span>
#include <string>
#include <utility>

namespace tapestry {

Tensor read_npy(const std::filesystem::path& path) {
    InputFile file(path);
    return npy::read_array(
        shown(path), [&file](std::span<std::byte> to) { file.read(to); }, file.size());
}

FileDigest write_npy(const std::filesystem::path& path, const Tensor& x,
                     const WriteOptions& options) {
    check_defined("write_npy", x);
    const std::string header = npy::header_text(x);
    const Tensor flat = dense(x);
    return write_file_atomically(
        path,
        [&](OutputFile& file) {
            file.write(header);
            file.write(bytes_of(flat));
        },
        options);
}

// ---- series -------------------------------------------------------------------------------------

struct SeriesWindows::State {
    std::string what;
    Options options;
    npy::Header header;
    std::ifstream file;
    std::int64_t begin = 0;  // of the elements in the file
    std::int64_t windows = 0;
    Shape step;

    void take(std::span<std::byte> to) {
        file.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
        require<IoError>(static_cast<bool>(file),
                         "{}: cannot be read: it ends early, or the disk "
                         "fails",
                         what);
    }
};

SeriesWindows::SeriesWindows(const std::filesystem::path& path, const Options& options)
    : state_(std::make_unique<State>()) {
    State& s = *state_;
    s.what = shown(path);
    const std::uint64_t size =
        InputFile(path).size();  // of a regular file, or an error with its reason
    s.file.open(path, std::ios::binary);
    s.header = npy::read_header(
        s.what, [&s](std::span<std::byte> to) { s.take(to); }, size);
    s.begin = static_cast<std::int64_t>(size - s.header.data_bytes());
    require<IoError>(!s.header.fortran,
                     "{}: a series in Fortran's order cannot be read step by "
                     "step; save it with np.ascontiguousarray",
                     s.what);
    require<IoError>(s.header.shape.rank() >= 1, "{}: a scalar is no series", s.what);
    s.step = s.header.shape.sub(1, s.header.shape.rank());
    s.options = options;
    const std::int64_t steps = s.header.shape[0];
    if (options.last < 0) s.options.last = steps;
    require(options.length >= 1 && options.stride >= 1,
            "SeriesWindows: length and stride must be positive, got {} and {}", options.length,
            options.stride);
    require(options.first >= 0 && options.first <= s.options.last && s.options.last <= steps,
            "SeriesWindows: steps {} to {} of {}", options.first, s.options.last, steps);
    const std::int64_t room = s.options.last - options.first;
    require(room >= options.length, "SeriesWindows: {} steps have no window of {}", room,
            options.length);
    s.windows = (room - options.length) / options.stride + 1;
}

SeriesWindows::~SeriesWindows() = default;
SeriesWindows::SeriesWindows(SeriesWindows&&) noexcept = default;

std::int64_t SeriesWindows::size() const { return state_->windows; }
const Shape& SeriesWindows::step_shape() const { return state_->step; }

Tensor SeriesWindows::batch(const Tensor& ids) const {
    State& s = *state_;
    check_dtype("SeriesWindows", ids, DType::i64);
    require<ShapeError>(ids.rank() == 1, "SeriesWindows: the windows' numbers must be [N], got {}",
                        ids.shape());
    Tensor y(Shape{ids.numel(), s.options.length} + s.step, s.header.type.dtype());
    const std::int64_t per_step = numel(s.step), per_window = per_step * s.options.length;
    std::int64_t row = 0;
    for (const std::int64_t id : ids.to_vector<std::int64_t>()) {
        require<IndexError>(id >= 0 && id < s.windows,
                            "SeriesWindows: window {} is not from 0 to {}", id, s.windows - 1);
        const std::int64_t first = s.options.first + id * s.options.stride;
        s.file.clear();
        s.file.seekg(s.begin + first * per_step * s.header.type.bytes);
        npy::read_elements(
            s.what, [&s](std::span<std::byte> to) { s.take(to); }, s.header.type, y,
            row++ * per_window, per_window);
    }
    return y;
}

}  // namespace tapestry
