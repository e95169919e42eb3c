// NumPy's files: one array (.npy), or several by name (.npz), read and written; and long series in
// a .npy file, read one window at a time.
//
//     const Tensor prices = read_npy("prices.npy");            // np.save("prices.npy", prices)
//     write_npz("result.npz", {{"x", x}, {"y", y}});           // np.load("result.npz")["x"]
//
// Elements may be floats of 16, 32 and 64 bits, integers of 8 to 64 bits (as i64), and bool, of
// either byte order, in C's or Fortran's order. Complex numbers, texts, dates, objects and records
// are refused by their type. Every failure to read is an IoError of one line that names the file.
// Source: numpy.lib.format. Read next: npy_header.h.
#pragma once

#include <tapestry/core/file.h>
#include <tapestry/core/tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace tapestry {

/// The array in a .npy file, row-major.
Tensor read_npy(const std::filesystem::path& path);

/// Writes x for np.load. bf16 is refused (DTypeError), because NumPy has no such type. Throws
/// IoError as write_file_atomically does.
FileDigest write_npy(const std::filesystem::path& path, const Tensor& x,
                     const WriteOptions& options = {});

/// The arrays in a .npz file, in its order. Only uncompressed files, as np.savez writes them
/// (np.savez_compressed does not).
NamedTensors read_npz(const std::filesystem::path& path);

/// Writes the tensors for np.load, uncompressed; equal arguments give equal bytes. Throws
/// ValueError for a name that is empty, not UTF-8 or given twice, and for more than 4 GB; as
/// write_npy.
FileDigest write_npz(const std::filesystem::path& path, const NamedTensors& tensors,
                     const WriteOptions& options = {});

// ---- series -------------------------------------------------------------------------------------

/// Windows of a series [T, ...] in a .npy file, which may be larger than memory: window i has steps
/// i stride to i stride + length - 1.
///
///     const SeriesWindows windows("load.npy", {.length = 192, .stride = 24});
///     const EpochOrder order(windows.size(), {.batch_size = 32, .shuffle = true});
///     const Tensor x = windows.batch(order.ids(i));  // [32, 192, ...]
///
/// The file is opened once and must not change. One thread at a time.
class SeriesWindows {
public:
    /// How windows are cut.
    struct Options {
        std::int64_t length = 1;  ///< steps in a window
        std::int64_t stride = 1;  ///< from the beginning of one to that of the next
        std::int64_t first = 0;   ///< steps at the beginning that are left out
        std::int64_t last = -1;   ///< the end of the steps that are used; -1: that of the file
    };

    /// Throws IoError as read_npy does, and for a file in Fortran's order; ValueError unless the
    /// options leave at least one window.
    SeriesWindows(const std::filesystem::path& path, const Options& options);
    ~SeriesWindows();
    SeriesWindows(SeriesWindows&&) noexcept;

    std::int64_t size() const;  ///< number of windows
    /// Shape of one step: [] for a series [T].
    const Shape& step_shape() const;
    /// Windows ids [N], i64, as [N, length, ...]. Throws IndexError, and IoError if the file ends
    /// early.
    Tensor batch(const Tensor& ids) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace tapestry
