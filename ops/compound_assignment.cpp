// a += b either rebinds a or updates it in place. This file chooses, and refuses the cases where
// neither would do what was meant.
#include <tapestry/ops/arithmetic.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/ops/check.h>

namespace tapestry {
namespace {

constexpr auto kAdd = [](const Tensor& a, const auto& b) { return add(a, b); };
constexpr auto kSub = [](const Tensor& a, const auto& b) { return sub(a, b); };
constexpr auto kMul = [](const Tensor& a, const auto& b) { return mul(a, b); };
constexpr auto kDiv = [](const Tensor& a, const auto& b) { return div(a, b); };

bool is_followed(const Tensor& a, const Tensor& b) { return Tape::following({a, b}) != nullptr; }
bool is_followed(const Tensor& a, double) { return Tape::following({a}) != nullptr; }

template <class B, class F>
Tensor result_of(const char* sign, const Tensor& a, const B& b, F f) {
    check_defined(sign, a);
    Tensor y = f(a, b);
    require<ShapeError>(y.shape() == a.shape(), "{}: the result {} is larger than the tensor {}",
                        sign, y.shape(), a.shape());
    require<DTypeError>(y.dtype() == a.dtype(), "{}: a result of {} for a tensor of {}", sign,
                        y.dtype(), a.dtype());
    return y;
}

void check_may_stand_for_result(const char* sign, const Tensor& a) {
    require<AutogradError>(!a.requires_grad(),
                           "{}: the tensor {} is a leaf that requires its gradient, and a tape is "
                           "recording; change it under a NoGradGuard, or write a = a + b instead",
                           sign, a.shape());
    require<AutogradError>(a.bytes() >= a.storage()->bytes(),
                           "{}: the tensor {} is a view of another, and a tape does not record "
                           "changes of views; write a = a + b instead",
                           sign, a.shape());
}

// copy_ loses the record of whether the numbers depend on a leaf; y has it (Tape::note_loss).
void put(Tensor& a, const Tensor& y) {
    a.copy_(y);
    if (a.leaf() == nullptr) a.set_tape_ref(y.tape_ref());
}

template <class B, class F>
Tensor& assign(const char* sign, Tensor& a, const B& b, F f) {
    check_defined(sign, a);
    const bool followed = is_followed(a, b);
    if (followed) check_may_stand_for_result(sign, a);
    const Tensor y = result_of(sign, a, b, f);
    if (followed) {
        a = y;
    } else {
        put(a, y);
    }
    return a;
}

template <class B, class F>
void assign_to_part(const char* sign, Tensor& part, const B& b, F f) {
    check_defined(sign, part);
    require<AutogradError>(
        !is_followed(part, b),
        "{}: a tape does not record changes of a view {}; use index_put or where instead", sign,
        part.shape());
    require(!part.owns_alone(),
            "{}: the tensor {} is a temporary copy, and the result would be lost", sign,
            part.shape());
    put(part, result_of(sign, part, b, f));
}

}  // namespace

Tensor& operator+=(Tensor& a, const Tensor& b) { return assign("+=", a, b, kAdd); }
Tensor& operator-=(Tensor& a, const Tensor& b) { return assign("-=", a, b, kSub); }
Tensor& operator*=(Tensor& a, const Tensor& b) { return assign("*=", a, b, kMul); }
Tensor& operator/=(Tensor& a, const Tensor& b) { return assign("/=", a, b, kDiv); }
Tensor& operator+=(Tensor& a, double b) { return assign("+=", a, b, kAdd); }
Tensor& operator-=(Tensor& a, double b) { return assign("-=", a, b, kSub); }
Tensor& operator*=(Tensor& a, double b) { return assign("*=", a, b, kMul); }
Tensor& operator/=(Tensor& a, double b) { return assign("/=", a, b, kDiv); }

void operator+=(Tensor&& part, const Tensor& b) { assign_to_part("+=", part, b, kAdd); }
void operator-=(Tensor&& part, const Tensor& b) { assign_to_part("-=", part, b, kSub); }
void operator*=(Tensor&& part, const Tensor& b) { assign_to_part("*=", part, b, kMul); }
void operator/=(Tensor&& part, const Tensor& b) { assign_to_part("/=", part, b, kDiv); }
void operator+=(Tensor&& part, double b) { assign_to_part("+=", part, b, kAdd); }
void operator-=(Tensor&& part, double b) { assign_to_part("-=", part, b, kSub); }
void operator*=(Tensor&& part, double b) { assign_to_part("*=", part, b, kMul); }
void operator/=(Tensor&& part, double b) { assign_to_part("/=", part, b, kDiv); }

}  // namespace tapestry
