// Mutates the JSON in a file, and the numbers after it, so that most of it still parses.
// Read next: mutate.h.
#pragma once

#include <tapestry/tests/fuzz/chance.h>

#include <string>
#include <string_view>

namespace tapestry::fuzz {

/// A path, name, stage or text that a reader must refuse or survive.
std::string_view hostile_text(Chance& chance);

/// Changes one number, string or member.
std::string mutate_json(std::string text, Chance& chance);

/// Changes the header, mostly with the right length afterwards, or a number.
std::string mutate_safetensors(std::string file, Chance& chance);

/// Chooses the mutation by the file's name.
std::string mutate_contents(std::string_view name, std::string contents, Chance& chance);

}  // namespace tapestry::fuzz
