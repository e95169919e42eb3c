#include <tapestry/nn/chat/jinja_parser.h>

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/chat/jinja_functions.h>

#include <fmt/core.h>

namespace tapestry::jinja {
namespace {

using Kind = Token::Kind;

// Where the stack of this thread is now.
std::uintptr_t stack_address() {
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

}  // namespace

// ---- what a running program knows ---------------------------------------------------------------

Context::Context(Members globals, bool marks_generation)
    : frames_{std::move(globals)}, marks_generation_(marks_generation), stack_(stack_address()) {}

Value Context::get(const std::string& name) const {
    const auto in = [&name](const Members& frame) -> const Value* {
        for (const auto& [key, value] : frame) {
            if (key == name) return &value;
        }
        return nullptr;
    };
    for (std::size_t i = frames_.size(); i-- > first_;) {
        if (const Value* found = in(frames_[i])) return *found;
    }
    if (const Value* found = in(frames_[0])) return *found;
    return global(name);
}

void Context::set(const std::string& name, Value value) {
    Members& frame = frames_.back();
    for (auto& [key, old] : frame) {
        if (key == name) return void(old = std::move(value));
    }
    frame.emplace_back(name, std::move(value));
}

void Context::count_step() {
    constexpr std::int64_t kMost = 200'000;
    require<JinjaError>(++steps_ <= kMost, "more than {} turns of loops and calls", kMost);
}

Context::Scope::Scope(Context& context, bool is_macro) : context_(context), first_(context.first_) {
    constexpr std::size_t kMost = 200;
    require<JinjaError>(context.frames_.size() < kMost, "more than {} loops and calls at a time",
                        kMost);
    // A macro that calls itself inside of many blocks needs far more for each call than others.
    constexpr std::uintptr_t kMostStack = std::uintptr_t{4} << 20;  // bytes; systems have 8 MB
    const std::uintptr_t here = stack_address(), before = context.stack_;
    require<JinjaError>((here < before ? before - here : here - before) < kMostStack,
                        "loops and calls that nest too deeply");
    if (is_macro) context.first_ = context.frames_.size();
    context.frames_.emplace_back();
}

Context::Scope::~Scope() {
    context_.frames_.pop_back();
    context_.first_ = first_;
}

// ---- tokens -------------------------------------------------------------------------------------

Token TokenReader::take() {
    Token token = next();
    if (token.kind != Kind::end) ++at_;
    return token;
}

bool TokenReader::take_if(std::string_view sign_or_name) {
    if (!next().is(sign_or_name)) return false;
    take();
    return true;
}

void TokenReader::need(std::string_view sign_or_name) {
    if (!take_if(sign_or_name)) {
        refuse(fmt::format("{} where {} is needed", utf8::quoted(next().text), sign_or_name));
    }
}

std::string TokenReader::name() {
    if (next().kind != Kind::name) {
        refuse(fmt::format("{} where a name is needed", utf8::quoted(next().text)));
    }
    return take().text;
}

void TokenReader::refuse(const std::string& what) const {
    fail<JinjaError>("line {}: {}", next().line, what);
}

void TokenReader::count_operator() {
    constexpr int kMost = 300;
    if (++operators_ > kMost) refuse("a tag of more than 300 operators");
}

}  // namespace tapestry::jinja
