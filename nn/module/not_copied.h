// NotCopied: a base for objects that stay where they were made, which compilers explain in a
// sentence. With a deleted constructor they would say that it is deleted, and std::vector<Layer>
// sixty lines. Read next: module.h.
#pragma once

namespace tapestry::detail {

template <class M>
constexpr auto refuse_copy() {
    static_assert(!sizeof(M),
                  "a module is neither copied nor moved, for its members are registered by "
                  "address: pass a reference, keep it in a std::unique_ptr or a std::deque");
    return 0;
}

/// The default argument and the deduced type are looked at where M is copied, so that the compiler
/// names that line, and not before: std::optional<M> and std::deque<M> are as good as ever.
template <class M>
class NotCopied {
protected:
    NotCopied() = default;
    NotCopied(const NotCopied&, int = refuse_copy<M>()) {}
    auto operator=(const NotCopied&) { refuse_copy<M>(); }
};

}  // namespace tapestry::detail
