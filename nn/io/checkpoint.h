// A checkpoint: a training as one file, from which it goes on as if it had never stopped.
//
//     save_checkpoint("last.safetensors", {.module = model, .optimizer = optimizer,
//                                          .generators = {{"batches", &batches}}, .step = 50});
//     ...
//     const CheckpointInfo info = load_checkpoint("last.safetensors", {...the same, made anew...});
//
// The same binary on the same instruction set takes the same steps, to the last bit. The file is
// safetensors: "model.NAME" the module's parameters and buffers, "optimizer.NAME" the optimiser's
// tensors (nn/optim/optimizer.h), and in the metadata under "checkpoint" a JSON object with all
// numbers that are no tensors. A Snapshot is for a training that does not wait for the disk. Read
// next: safetensors.h, for the weights alone.
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

/// What a checkpoint is made of, and what one is loaded into.
struct Checkpoint {
    Module& module;
    Optimizer& optimizer;
    /// All that the training draws from: batches, dropout; by names of one's own.
    std::map<std::string, Generator*> generators = {};
    std::int64_t step = 0;    ///< steps taken
    std::string config = {};  ///< whatever else is to be known again, a configuration as JSON, say
    std::string data = {};    ///< a checksum of what it learns from
    std::string run = {};     ///< how the training went so far: nn/train/run_directory.h
};

/// What can be said of a checkpoint without the objects that it is loaded into.
struct CheckpointInfo {
    std::int64_t step = 0;
    std::string config;
    std::string data;
    std::string run;
    std::string version;              ///< of Tapestry, that wrote it
    std::string isa;                  ///< on another one the bits are not the same
    std::string optimizer;            ///< its kind: "AdamW"
    std::vector<std::string> frozen;  ///< parameters
};

/// A checkpoint's file, in memory: what write_safetensors takes.
struct CheckpointFile {
    NamedTensors tensors;  ///< those of the training itself, which change with its next step
    std::map<std::string, std::string> metadata;
};
/// Throws ValueError for texts that are not UTF-8.
CheckpointFile file_of(const Checkpoint& checkpoint);

/// "model.NAME", as the file has the tensors of the module.
inline constexpr std::string_view kModelPrefix = "model.";

/// Writes it; a previous file survives every failure. Throws IoError.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Puts everything back: tensors of the module (in place), the optimiser's state, where the
/// generators stand. `step` and `config` of `into` are not looked at; the result has the file's.
///
/// Throws IoError, and changes nothing, for a file that is damaged, no checkpoint or of a newer
/// format; for another module, as load() does; an optimiser of another kind, or of other
/// parameters, as Optimizer::load_state does; generators of other names; other frozen parameters.
CheckpointInfo load_checkpoint(const std::filesystem::path& path, const Checkpoint& into);

/// Reads the little that says what it is of, and no tensor. Throws IoError as load_checkpoint does.
CheckpointInfo checkpoint_info(const std::filesystem::path& path);

// ---- a snapshot ---------------------------------------------------------------------------------

// A checkpoint as it was at one moment, in memory of its own: it is written while the training that
// it was taken of goes on. Taking it is a copy, by all threads; memory is asked for once. Read
// next: nn/train/checkpoint_writer.h, which writes it.

class Snapshot {
public:
    /// Copies everything. Throws MemoryError.
    void take(const Checkpoint& checkpoint);
    /// Copies nothing: the training has to wait until it is written.
    void refer(const Checkpoint& checkpoint);

    /// The module's tensors, under their own names.
    NamedTensors weights() const;

    /// As save_checkpoint does. Throws IoError.
    FileDigest write(const std::filesystem::path& path, const WriteOptions& options = {}) const {
        return write_safetensors(path, copy_.tensors, copy_.metadata, options);
    }

private:
    CheckpointFile copy_;
    bool is_copy_ = true;  // false: its tensors are the training's own
};

}  // namespace tapestry
