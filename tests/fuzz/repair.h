// Repairs checksums after a mutation, so that readers get past them.
// Read next: mutate.h.
#pragma once

#include <tapestry/tests/fuzz/archive.h>

#include <string>

namespace tapestry::fuzz {

/// The staged name of a file: in its own folder or, in the old layout, beside the manifest.
std::string staged_path(const std::string& path, const std::string& stage, bool beside_manifest);

/// A manifest of all files below `folder` ("D", "D/best").
std::string manifest_of(const Archive& archive, const std::string& folder,
                        const std::string& stage);

/// The stage of the folder's manifest; "" if it has none.
std::string stage_in(const Archive& archive, const std::string& folder);

/// Corrects sizes and checksums in manifests and in data.json.
void repair(Archive& archive);

/// The entry with this path; null if there is none.
Entry* find(Archive& archive, const std::string& path);
const Entry* find(const Archive& archive, const std::string& path);

}  // namespace tapestry::fuzz
