#include <tapestry/tests/source_dir.h>

namespace tapestry::test {

std::filesystem::path source_dir() { return TAPESTRY_SOURCE_DIR; }

}  // namespace tapestry::test
