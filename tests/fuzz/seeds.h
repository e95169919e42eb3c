// The initial corpus: a directory of every kind that the library writes, interrupted commits, and
// the attacks found by hand. Read next: directory_corpus.cpp.
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

/// Directories as the library writes them, complete and interrupted.
std::vector<Seed> good_seeds(const World& world);

/// Attacks built from these: links, pipes, names that lead elsewhere, deep nesting.
std::vector<Seed> hostile_seeds(const std::vector<Seed>& good);

}  // namespace tapestry::fuzz
