// Weights that other programs wrote: names in wrappers, and what is given as a model or as weights
// but is something else, with the command that helps. Internal to nn/io.
#pragma once

#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tapestry {

/// Without "module.", "_orig_mod." and "model.", in any order, with which DataParallel,
/// torch.compile and Lightning begin the names of all tensors.
std::string without_wrappers(const std::string& name);
/// Without as many of them as lead to a name that is wanted, because a family's own names may begin
/// with "model."; the whole name if none does.
std::string without_wrappers(const std::string& name, const std::set<std::string>& wanted);

/// The names of tensors in files as the parameters' own, or as `copied`, the name of a tensor that
/// is a parameter's copy: without wrappers, where that is wanted.
std::function<std::string(const std::string&)> names_without_wrappers(
    const std::vector<StoredParameter>& parameters, const std::string& copied = "");

/// Renames stored tensors in this way, for a module.
void strip_wrappers(NamedTensors& stored, const Module& module);

/// Throws IoError for what is known not to be a directory of a model: a file, or the directory of
/// an adapter.
void check_is_model(const std::filesystem::path& directory);

/// Throws IoError if the directory has no model.safetensors, but weights in another form.
void check_weights_exist(const SavedFiles& files);

/// Throws IoError for a file that is known not to be safetensors: a Git LFS pointer, a web page, a
/// table, ...
void check_is_safetensors(const std::filesystem::path& path);

}  // namespace tapestry
