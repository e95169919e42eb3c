#include <tapestry/autograd/repeated_run.h>

namespace tapestry {
namespace {

thread_local int runs = 0;

}  // namespace

RepeatedRun::RepeatedRun() { ++runs; }
RepeatedRun::~RepeatedRun() { --runs; }

bool is_repeated_run() { return runs > 0; }

}  // namespace tapestry
