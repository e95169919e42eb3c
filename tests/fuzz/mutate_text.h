// Mutations that leave a file readable: of the JSON in it, and of the numbers behind that.
// Read next: mutate.h.
#pragma once

#include <tapestry/tests/fuzz/chance.h>

#include <string>
#include <string_view>

namespace tapestry::fuzz {

/// A path, a name, a stage or a text that a reader should refuse or survive.
std::string_view hostile_text(Chance& chance);

/// One number, string, member or brace is not what it was.
std::string mutate_json(std::string text, Chance& chance);

/// Of a safetensors file, whose header has the right length afterwards, mostly.
std::string mutate_safetensors(std::string file, Chance& chance);

/// Of a file of this name.
std::string mutate_contents(std::string_view name, std::string contents, Chance& chance);

}  // namespace tapestry::fuzz
