// The page's data of attention, and of tokens on their way. Internal to nn/pages.
#pragma once

#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/pages/page.h>

namespace tapestry {

/// The members "exact", "attention" and "path", as heads.js and path.js read them.
void write_attention(JsonWriter& json, const Inspector& inspector, const PageOptions& options);

}  // namespace tapestry
