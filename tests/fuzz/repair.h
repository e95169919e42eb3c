// Checksums that a mutation has broken, made right again: what lies behind them is reached.
// Read next: mutate.h.
#pragma once

#include <tapestry/tests/fuzz/archive.h>

#include <string>

namespace tapestry::fuzz {

/// Where a file waits for its place under this stage: beside it, or, as until 0.1, all of them
/// beside the manifest.
std::string staged_path(const std::string& path, const std::string& stage, bool beside_manifest);

/// A manifest of what is in `folder` ("D", "D/best") and below it.
std::string manifest_of(const Archive& archive, const std::string& folder,
                        const std::string& stage);

/// The stage of the folder's manifest; "" if it has none.
std::string stage_in(const Archive& archive, const std::string& folder);

/// Lengths and checksums of files, in the manifests and in data.json.
void repair(Archive& archive);

/// The entry of this path; null if there is none.
Entry* find(Archive& archive, const std::string& path);
const Entry* find(const Archive& archive, const std::string& path);

}  // namespace tapestry::fuzz
