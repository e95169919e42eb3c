// A checkpoint as it was at one moment, in memory of its own: it is written while the training that
// it was taken of goes on. Taking it is a copy, by all threads; memory is asked for once.
// Read next: nn/train/checkpoint_writer.h, which writes it.
#pragma once

#include <tapestry/nn/io/checkpoint.h>
#include <tapestry/nn/io/safetensors.h>

namespace tapestry {

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
