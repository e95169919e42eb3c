// What the fuzzer begins with: a directory of every kind that the library writes, commits that were
// interrupted, and the attacks that were found by hand. Read next: directory_corpus.cpp.
#pragma once

#include <tapestry/tests/fuzz/archive.h>
#include <tapestry/tests/fuzz/world.h>

#include <string>
#include <vector>

namespace tapestry::fuzz {

struct Seed {
    std::string name;
    Archive archive;
};

/// Directories as the library leaves them, and their interrupted commits.
std::vector<Seed> good_seeds(const World& world);

/// Made of these: links, pipes, names that lead elsewhere, deep nesting.
std::vector<Seed> hostile_seeds(const std::vector<Seed>& good);

}  // namespace tapestry::fuzz
