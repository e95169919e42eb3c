// A checkpoint: a training run's state in one file, from which it resumes as if it had never
// stopped.
//
//     save_checkpoint("last.safetensors", {.module = model, .optimizer = optimizer,
//                                          .generators = {{"batches", &batches}}, .step = 50});
//     ...
//     const CheckpointInfo info = load_checkpoint("last.safetensors", {...the same objects, newly
//     made...});
//
// The same binary on the same instruction set takes the same steps, bit for bit. The file is in
// safetensors format: "model.NAME" are the module's parameters and buffers, "optimizer.NAME" the
// optimiser's tensors (nn/optim/optimizer.h), and "checkpoint" in the metadata is a JSON object
// with all numbers that are not tensors. A Snapshot is for runs that do not wait for the disk. Read
// next: safetensors.h, for weights only.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/nn/optim/optimizer.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// The objects that a checkpoint is saved from, or loaded into.
struct Checkpoint {
    Module& module;        ///< module with parameters and buffers
    Optimizer& optimizer;  ///< its optimiser
    /// All generators used in training (batches, dropout), by names of your choice.
    std::map<std::string, Generator*> generators = {};
    std::int64_t step = 0;    ///< steps taken
    std::string config = {};  ///< any other text to store, such as a configuration in JSON
    std::string data = {};    ///< hash of the training data (nn/data/documents.h)
    std::string run = {};     ///< metadata of the run: nn/train/run_directory.h
};

/// Information in a checkpoint that can be read without the objects that it is loaded into.
struct CheckpointInfo {
    std::int64_t step = 0;            ///< steps taken
    std::string config;               ///< Checkpoint::config
    std::string data;                 ///< Checkpoint::data
    std::string run;                  ///< Checkpoint::run
    std::string version;              ///< version of Tapestry that wrote it
    std::string isa;                  ///< instruction set; with another one the bits differ
    std::string optimizer;            ///< its kind: "AdamW"
    std::vector<std::string> frozen;  ///< names of frozen parameters
};

/// The contents of a checkpoint's file in memory, for write_safetensors.
struct CheckpointFile {
    NamedTensors tensors;                         ///< the objects' own, which the next step changes
    std::map<std::string, std::string> metadata;  ///< the texts of the header
};
/// Throws ValueError for texts that are not UTF-8.
CheckpointFile file_of(const Checkpoint& checkpoint);

/// Prefix of the module's tensors in the file: "model.NAME".
inline constexpr std::string_view kModelPrefix = "model.";

/// Writes a checkpoint; a previous file survives every failure. Throws IoError.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Restores everything: the module's tensors (in place), the optimiser's state, the generators'
/// states. Ignores `step` and `config` of `into`; the result has the file's.
///
/// Throws IoError, and changes nothing, for a file that is damaged, not a checkpoint, or of a newer
/// format; for another module, as load() does; for an optimiser of another kind, or with other
/// parameters, as Optimizer::load_state does; for generators with other names; for other frozen
/// parameters.
CheckpointInfo load_checkpoint(const std::filesystem::path& path, const Checkpoint& into);

/// Reads only the metadata and no tensors. Throws IoError as load_checkpoint does.
CheckpointInfo checkpoint_info(const std::filesystem::path& path);

// ---- a snapshot ---------------------------------------------------------------------------------

// A copy of a checkpoint in memory, which can be written while training continues. Taking it is a
// parallel copy; its memory is allocated once. Read next: nn/train/checkpoint_writer.h, which
// writes it.

/// A copy of a run's state, to write while the run continues.
class Snapshot {
public:
    /// Copies everything but frozen parameters. Throws MemoryError.
    void take(const Checkpoint& checkpoint);
    /// Copies nothing: training must wait until it is written.
    void refer(const Checkpoint& checkpoint);

    /// The module's tensors, under their own names.
    NamedTensors weights() const;

    /// As save_checkpoint does. Throws IoError.
    FileDigest write(const std::filesystem::path& path, const WriteOptions& options = {}) const {
        return write_safetensors(path, copy_.tensors, copy_.metadata, options);
    }

private:
    CheckpointFile copy_;
    bool is_copy_ = true;  // false: refers to the objects' own tensors
};

}  // namespace tapestry
