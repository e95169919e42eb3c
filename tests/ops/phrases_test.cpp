// A phrasebook: the 100 most used functions of PyTorch on a CPU, and their equivalents here. It is
// compiled and run, which proves that they exist; docs/ops.md shows it (ops_page.cpp reads this
// file), and a test counts how many of the hundred have an equivalent.
//
// A comment on a separate line names one of the hundred. Each line below it is one phrase followed
// by PyTorch's; "not there: ..." is a phrase that we lack, and "no counterpart: ..." lists
// functions for which PyTorch has no name. Code before the first name is only preparation.
#include <doctest/doctest.h>
#include <tapestry/tapestry.h>

using namespace tapestry;

TEST_CASE("phrases: making tensors") {
    const Tensor x = ones({2, 3});
    Generator generator(1);
    std::vector<float> numbers(6);
    const Tensor p = full({5}, 0.2);

    // tensor
    tensor<float>({{1, 2}, {3, 4}});  // torch.tensor([[1., 2.], [3., 4.]])
    scalar(3.5);                      // torch.tensor(3.5)
    // zeros
    zeros({2, 3});  // torch.zeros(2, 3)
    // ones
    ones({2, 3});  // torch.ones(2, 3)
    // full
    full({2, 3}, 0.5);  // torch.full((2, 3), 0.5)
    // empty
    empty({2, 3}, DType::f64);  // torch.empty(2, 3, dtype=torch.float64)
    // eye
    eye(3);  // torch.eye(3)
    // rand
    rand({2, 3}, generator);            // torch.rand(2, 3, generator=generator)
    uniform({2, 3}, -1, 1, generator);  // torch.empty(2, 3).uniform_(-1, 1, generator=generator)
    // randn
    randn({2, 3}, generator);            // torch.randn(2, 3, generator=generator)
    normal({2, 3}, 0, 0.02, generator);  // torch.normal(0, 0.02, (2, 3), generator=generator)
    // randint
    randint(0, 10, {2, 3}, generator);  // torch.randint(0, 10, (2, 3), generator=generator)
    // randperm
    randperm(5, generator);  // torch.randperm(5, generator=generator)
    // bernoulli
    bernoulli({2, 3}, 0.1, generator);  // torch.bernoulli(torch.full((2, 3), 0.1)).bool()
    // zeros_like, ones_like
    zeros_like(x);  // torch.zeros_like(x)
    ones_like(x);   // torch.ones_like(x)
    // manual_seed
    manual_seed(42);      // torch.manual_seed(42)
    default_generator();  // torch.default_generator
    // arange
    arange(5);         // torch.arange(5)
    arange(2, 11, 3);  // torch.arange(2, 11, 3)
    // linspace
    linspace(0, 1, 5);  // torch.linspace(0, 1, 5)
    // multinomial
    multinomial(p, 3);  // torch.multinomial(p, 3)
    // rand_like, randn_like, full_like
    rand_like(x);     // torch.rand_like(x)
    randn_like(x);    // torch.randn_like(x)
    full_like(x, 7);  // torch.full_like(x, 7)
    empty_like(x);    // torch.empty_like(x)
    // from_blob
    from_blob(numbers.data(), {2, 3});  // torch.from_numpy(array).reshape(2, 3)
}

TEST_CASE("phrases: shape and indexing") {
    const Tensor x = ones({2, 4});
    const Tensor y = zeros({2, 4});
    const Tensor column = ones({2, 1});
    const Tensor cube = ones({2, 3, 4});
    const Tensor ids = tensor<std::int64_t>({1, 0});
    const Tensor places = zeros({2, 2}, DType::i64);
    const Tensor mask = gt(x, 0);
    const Tensor v = ones({3});
    const Tensor w = zeros({2});
    const Tensor image = ones({1, 4, 2, 2});

    // reshape
    reshape(x, {4, -1});  // x.reshape(4, -1), x.view(4, -1)
    contiguous(x);        // x.contiguous()
    // transpose
    transpose(x, 0, 1);  // x.transpose(0, 1), x.T
    swapaxes(x, 0, 1);   // x.swapaxes(0, 1)
    // permute
    permute(cube, {2, 0, 1});  // cube.permute(2, 0, 1)
    movedim(cube, 0, -1);      // cube.movedim(0, -1)
    // squeeze
    squeeze(column, 1);  // column.squeeze(1)
    // unsqueeze
    unsqueeze(x, -1);  // x.unsqueeze(-1), x[..., None]
    // expand
    expand(x, {5, 2, 4});  // x.expand(5, 2, 4)
    // flatten
    flatten(cube, 1);  // cube.flatten(1)
    // stack
    stack({x, y}, 1);  // torch.stack([x, y], 1)
    // split
    split(x, 3, 1);       // torch.split(x, 3, 1)
    split(x, {1, 3}, 1);  // torch.split(x, [1, 3], 1)
    // index_select
    index_select(x, 0, ids);  // torch.index_select(x, 0, ids)
    // gather
    gather(x, 1, places);  // torch.gather(x, 1, places), torch.take_along_dim(x, places, 1)
    // masked_fill
    masked_fill(x, mask, -1);  // x.masked_fill(mask, -1)
    // where
    where(mask, x, y);  // torch.where(mask, x, y)
    where(mask, x, 0);  // torch.where(mask, x, 0)
    // tril, triu
    tril(x);      // torch.tril(x)
    triu(x, 1);   // torch.triu(x, 1)
    diag(v);      // torch.diag(v)
    diagonal(x);  // torch.diagonal(x)
    // cat
    concat({x, y}, 1);  // torch.concat([x, y], 1)
    cat({x, y}, 1);     // torch.cat([x, y], 1)
    // chunk
    chunk(x, 3, 1);  // torch.chunk(x, 3, 1)
    // x[a:b], narrow
    slice(x, 1, 1, 3);     // x[:, 1:3]
    slice(x, 1, 0, 4, 2);  // x[:, 0:4:2]
    narrow(x, 1, 1, 2);    // torch.narrow(x, 1, 1, 2)
    // pad
    pad(x, {{0, 0}, {1, 2}}, -1);  // F.pad(x, (1, 2), value=-1)
    // scatter
    scatter_add(x, 1, places, y);  // torch.scatter_add(x, 1, places, y)
    scatter(x, 1, places, y);      // torch.scatter(x, 1, places, y)
    index_put(x, {ids, kAll}, y);  // torch.index_put(x, (ids,), y)
    // repeat, tile
    repeat(x, {2, 3});           // x.repeat(2, 3)
    tile(x, {3});                // torch.tile(x, (3,))
    repeat_interleave(x, 2, 1);  // torch.repeat_interleave(x, 2, 1)
    pixel_shuffle(image, 2);     // F.pixel_shuffle(image, 2)
    pixel_unshuffle(image, 2);   // F.pixel_unshuffle(image, 2)
    // unbind
    unbind(x, 1);  // torch.unbind(x, 1)
    // x[i], x[mask]
    x[1];                              // x[1]
    x[-1];                             // x[-1]
    x[mask];                           // x[mask]
    x[ids];                            // x[ids]
    x[{ids, ids}];                     // x[ids, ids]
    x[{kAll, Slice{1, {}}}];           // x[:, 1:]
    x[{kEllipsis, kNewAxis}];          // x[..., None]
    select(x, 1, 2);                   // torch.select(x, 1, 2), x[:, 2]
    index(x, {0, Slice{.step = -1}});  // x[0].flip(0)
    // masked_select, nonzero
    masked_select(x, mask);  // torch.masked_select(x, mask)
    nonzero(mask);           // torch.nonzero(mask)
    // flip
    flip(x, {1});  // torch.flip(x, (1,))
    // roll
    roll(x, 1, 0);  // torch.roll(x, 1, 0)
    // meshgrid
    meshgrid({v, w});        // torch.meshgrid(v, w, indexing="ij")
    meshgrid({v, w}, "xy");  // torch.meshgrid(v, w, indexing="xy")
    // unfold
    unfold(x, 1, 2, 1);  // x.unfold(1, 2, 1)
}

TEST_CASE("phrases: numbers") {
    const Tensor x = ones({2, 3});
    const Tensor y = full({2, 3}, 2);
    const Tensor a = lt(x, y);
    const Tensor b = gt(x, 0);
    const Tensor ids = arange(4);
    Tensor z = zeros({2, 3});

    // add, sub, mul, div
    x + y;          // x + y
    x - y;          // x - y
    x * 2;          // x * 2
    x / y;          // x / y
    add(x, 1);      // torch.add(x, 1), x + 1
    sub(x, y);      // torch.sub(x, y)
    mul(x, y);      // torch.mul(x, y)
    div(x, y);      // torch.div(x, y)
    reciprocal(x);  // torch.reciprocal(x)
    neg(x);         // -x
    // pow
    pow(x, 2);  // x ** 2
    pow(x, y);  // x ** y
    pow(2, x);  // 2 ** x
    square(x);  // torch.square(x)
    // exp
    exp(x);  // torch.exp(x)
    // log
    log(x);  // torch.log(x)
    // sqrt, rsqrt
    sqrt(x);   // torch.sqrt(x)
    rsqrt(x);  // torch.rsqrt(x)
    // sin, cos
    sin(x);  // torch.sin(x)
    cos(x);  // torch.cos(x)
    // abs
    abs(x);  // torch.abs(x)
    // clamp
    clamp(x, 0, 1);   // torch.clamp(x, 0, 1)
    lerp(x, y, 0.3);  // torch.lerp(x, y, 0.3)
    // maximum, minimum
    maximum(x, y);  // torch.maximum(x, y)
    minimum(x, y);  // torch.minimum(x, y)
    // comparisons
    eq(x, y);  // x == y
    ne(x, y);  // x != y
    lt(x, 0);  // x < 0
    le(x, y);  // x <= y
    gt(x, y);  // x > y
    ge(x, 0);  // x >= 0
    // logic
    logical_not(a);     // ~a, torch.logical_not(a)
    logical_and(a, b);  // a & b, torch.logical_and(a, b)
    logical_or(a, b);   // a | b, torch.logical_or(a, b)
    logical_xor(a, b);  // a ^ b, torch.logical_xor(a, b)
    // to
    to(x, DType::f64);  // x.to(torch.float64), x.double()
    // tan, atan2
    tan(x);       // torch.tan(x)
    atan2(y, x);  // torch.atan2(y, x)
    asin(x);      // torch.asin(x)
    acos(x);      // torch.acos(x)
    atan(x);      // torch.atan(x)
    sinh(x);      // torch.sinh(x)
    cosh(x);      // torch.cosh(x)
    // sign
    sign(x);  // torch.sign(x)
    // floor, round
    floor(x);  // torch.floor(x)
    round(x);  // torch.round(x)
    ceil(x);   // torch.ceil(x)
    trunc(x);  // torch.trunc(x)
    // log1p, expm1
    log1p(x);  // torch.log1p(x)
    expm1(x);  // torch.expm1(x)
    log2(x);   // torch.log2(x)
    log10(x);  // torch.log10(x)
    logit(x);  // torch.logit(x)
    // erf
    erf(x);  // torch.erf(x)
    // isnan, isfinite
    isnan(x);        // torch.isnan(x)
    isfinite(x);     // torch.isfinite(x)
    isinf(x);        // torch.isinf(x)
    isclose(x, y);   // torch.isclose(x, y)
    allclose(x, y);  // torch.allclose(x, y)
    nan_to_num(x);   // torch.nan_to_num(x)
    // in place
    z += y;  // z += y
    z -= 1;  // z -= 1
    z *= y;  // z *= y
    z /= 2;  // z /= 2
    // whole numbers
    ids + ids;             // ids + ids
    ids * 2;               // ids * 2
    ids / 2;               // ids / 2
    floor_divide(ids, 2);  // ids // 2
    remainder(ids, 3);     // ids % 3, torch.remainder(ids, 3)
    fmod(ids, 3);          // torch.fmod(ids, 3)
}

TEST_CASE("phrases: reductions and order") {
    const Tensor x = ones({2, 3});
    const Tensor mask = gt(x, 0), ids = arange(3), line = linspace(0, 1, 5);

    // sum
    sum(x);                // x.sum()
    sum(x, {0, 1}, true);  // x.sum((0, 1), keepdim=True)
    // mean
    mean(x, {-1});  // x.mean(-1)
    // max, min
    max(x, {1});  // torch.amax(x, 1)
    min(x);       // torch.amin(x), x.min()
    // logsumexp
    logsumexp(x, {1});  // torch.logsumexp(x, 1)
    // cumsum
    cumsum(x, 1);  // torch.cumsum(x, 1)
    diff(x);       // torch.diff(x)
    // max, min with indices
    argmax(x, 1);            // torch.argmax(x, 1)
    max_with_indices(x, 1);  // torch.max(x, 1)
    min_with_indices(x, 1);  // torch.min(x, 1)
    // argmin
    argmin(x, 1);  // torch.argmin(x, 1)
    // std
    stddev(x, {1});  // torch.std(x, 1)
    var(x, {1});     // torch.var(x, 1)
    // norm
    norm(x);          // torch.linalg.vector_norm(x), torch.norm(x)
    norm(x, 1, {1});  // torch.norm(x, 1, 1)
    // prod
    prod(x, {1});  // torch.prod(x, 1)
    // cumprod
    cumprod(x, 1);  // torch.cumprod(x, 1)
    // any, all
    any(mask, {1});         // torch.any(mask, 1)
    all(mask);              // torch.all(mask)
    count_nonzero(x, {1});  // torch.count_nonzero(x, 1)
    // sort, argsort
    sort(x, 1);     // torch.sort(x, dim=1, stable=True)
    argsort(x, 1);  // torch.argsort(x, dim=1, stable=True)
    // topk
    topk(x, 2, 1);      // torch.topk(x, 2, 1)
    kthvalue(x, 2, 1);  // torch.kthvalue(x, 2, 1)
    // median, quantile, unique, bincount
    median(x, 1);                 // torch.median(x, 1)
    median(x);                    // torch.median(x)
    quantile(x, 0.5, 1);          // torch.quantile(x, 0.5, 1)
    quantile(x, 0.5);             // torch.quantile(x, 0.5)
    unique(x);                    // torch.unique(x, return_inverse=True, return_counts=True)
    bincount(ids);                // torch.bincount(ids)
    histc(x, 4, 0, 2);            // torch.histc(x, 4, 0, 2)
    searchsorted(line, x);        // torch.searchsorted(line, x)
    searchsorted(line, x, true);  // torch.searchsorted(line, x, right=True)
}

TEST_CASE("phrases: products") {
    const Tensor a = ones({2, 3});
    const Tensor b = ones({3, 4});
    const Tensor v = ones({3});
    const Tensor w = arange(3, DType::f32);
    const Tensor as = ones({2, 3, 4}), bs = ones({2, 4, 5}), m = eye(3);

    // matmul, mm, bmm
    matmul(a, b);        // a @ b, torch.matmul(a, b)
    mm(a, b);            // torch.mm(a, b)
    bmm(as, bs);         // torch.bmm(a, b)
    mv(a, v);            // torch.mv(a, v)
    tensordot(a, b, 1);  // torch.tensordot(a, b, 1)
    // dot, outer
    dot(v, w);    // torch.dot(v, w)
    outer(v, w);  // torch.outer(v, w)
    trace(m);     // torch.trace(m)
    // einsum
    einsum("ij,jk->ik", {a, b});  // torch.einsum("ij,jk->ik", a, b)
    // inverse, solve, svd
    solve(m, v);              // torch.linalg.solve(m, v)
    inverse(m);               // torch.linalg.inv(m)
    det(m);                   // torch.det(m)
    logdet(m);                // torch.logdet(m)
    cholesky(m);              // torch.linalg.cholesky(m)
    qr(a);                    // torch.linalg.qr(a)
    eigh(m);                  // torch.linalg.eigh(m)
    svd(a);                   // torch.linalg.svd(a, full_matrices=False)
    cosine_similarity(a, v);  // F.cosine_similarity(a, v, dim=-1)
    cdist(a, m);              // torch.cdist(a, m)
}

TEST_CASE("phrases: layers and losses") {
    Generator generator(1);
    const Tensor x = rand({2, 3}, generator);
    const Tensor y = zeros({2, 3});
    const Tensor weight = ones({4, 3});
    const Tensor targets = tensor<std::int64_t>({0, 2}), ids = targets;
    const Tensor q = ones({1, 2, 4}), k = q, v = q, w = ones({3});
    const Tensor steps = log_softmax(zeros({2, 4, 3})), ys = ones({2, 1}, DType::i64);
    const Tensor ts = full({2}, 4, DType::i64), ss = ones({2}, DType::i64);

    // linear
    linear(x, weight);  // F.linear(x, weight)
    // relu
    relu(x);          // F.relu(x)
    relu_squared(x);  // F.relu(x).square()
    // gelu, silu, sigmoid, tanh, softplus
    gelu(x);             // F.gelu(x, approximate="tanh")
    gelu(x, Gelu::erf);  // F.gelu(x)
    silu(x);             // F.silu(x)
    sigmoid(x);          // torch.sigmoid(x)
    tanh(x);             // torch.tanh(x)
    softplus(x);         // F.softplus(x)
    // softmax, log_softmax
    softmax(x);      // F.softmax(x, -1)
    log_softmax(x);  // F.log_softmax(x, -1)
    // cross_entropy
    cross_entropy(x, targets);                 // F.cross_entropy(x, targets)
    cross_entropy(x, targets, {.weight = w});  // F.cross_entropy(x, targets, weight=w)
    cross_entropy(x, softmax(y));              // F.cross_entropy(x, y.softmax(-1))
    ctc_loss(steps, ys, ts, ss);               // F.ctc_loss(steps.transpose(0, 1), ys, ts, ss)
    // mse_loss
    mse_loss(x, y);  // F.mse_loss(x, y)
    // dropout
    dropout(x, 0.1);  // F.dropout(x, 0.1)
    // embedding
    embedding(weight, ids);  // F.embedding(ids, weight)
    one_hot(ids, 5);         // F.one_hot(ids, 5).float()
    // layer_norm
    layer_norm(x);  // F.layer_norm(x, x.shape[-1:])
    rms_norm(x);    // F.rms_norm(x, x.shape[-1:], eps=1e-6)
    // scaled_dot_product_attention
    scaled_dot_product_attention(q, k, v);  // F.scaled_dot_product_attention(q, k, v)
    // leaky_relu, elu
    leaky_relu(x, 0.01);  // F.leaky_relu(x, 0.01)
    elu(x);               // F.elu(x)
    relu6(x);             // F.relu6(x)
    hardtanh(x);          // F.hardtanh(x)
    logsigmoid(x);        // F.logsigmoid(x)
    softsign(x);          // F.softsign(x)
    hardswish(x);         // F.hardswish(x)
    selu(x);              // F.selu(x)
    glu(x, 0);            // F.glu(x, 0)
    mish(x);              // F.mish(x)
    // binary_cross_entropy_with_logits
    binary_cross_entropy_with_logits(x, y);  // F.binary_cross_entropy_with_logits(x, y)
    binary_cross_entropy(x, y);              // F.binary_cross_entropy(x, y)
    // nll_loss, l1_loss, huber_loss, kl_div
    nll_loss(x, targets);      // F.nll_loss(x, targets)
    l1_loss(x, y);             // F.l1_loss(x, y)
    huber_loss(x, y);          // F.huber_loss(x, y)
    quantile_loss(x, y, 0.9);  // torch.maximum(0.9 * (y - x), -0.1 * (y - x)).mean()
    smooth_l1_loss(x, y);      // F.smooth_l1_loss(x, y)
    kl_div(x, y);              // F.kl_div(x, y)
}

TEST_CASE("phrases: small vision") {
    const Tensor x = ones({2, 3, 8, 8}), row = ones({2, 3, 9});
    const Tensor w = ones({4, 3, 3, 3}), w1 = ones({4, 3, 3}), b = ones({4});
    const Tensor w2 = ones({3, 4, 3, 3}), w3 = ones({3, 4, 3});
    const Tensor m = zeros({3}), v = ones({3});

    // batch_norm, group_norm
    batch_norm(x);          // F.batch_norm(x, None, None, training=True)
    batch_norm(x, {m, v});  // F.batch_norm(x, m, v)
    group_norm(x, 3);       // F.group_norm(x, 3)
    instance_norm(x);       // F.instance_norm(x)
    // conv1d, conv2d
    conv1d(row, w1);                                    // F.conv1d(row, w1)
    conv2d(x, w, b, {.stride = 2, .padding = {1, 0}});  // F.conv2d(x, w, b, 2, (1, 0))
    conv_transpose1d(row, w3);                          // F.conv_transpose1d(row, w3)
    conv_transpose2d(x, w2, b, {.stride = 2});          // F.conv_transpose2d(x, w2, b, 2)
    // pooling, interpolate
    max_pool2d(x, 2);                               // F.max_pool2d(x, 2)
    avg_pool2d(x, 3, {.stride = 2, .padding = 1});  // F.avg_pool2d(x, 3, 2, 1)
    max_pool1d(row, 3);                             // F.max_pool1d(row, 3)
    avg_pool1d(row, 3, {}, false);                  // F.avg_pool1d(row, 3, count_include_pad=False)
    adaptive_avg_pool2d(x, {3, 2});                 // F.adaptive_avg_pool2d(x, (3, 2))
    interpolate(x, {16, 12});                       // F.interpolate(x, (16, 12))
    interpolate(x, 16, Interpolation::bilinear);    // F.interpolate(x, 16, mode="bilinear")
}

// no counterpart: attention_weights, sum_to, recorded_attention, recorded_cross_entropy, philox
// no counterpart: stream
// no counterpart: adamw_update_, sgd_update_, rmsprop_update_, lion_update_
// no counterpart: sum_of_squares, sums_of_squares, scale_
// no counterpart: check_defined, check_dtype, check_floating, check_same_dtype, how_many, side_of
// no counterpart: rotary, int8_rows, multiply_by_rows, matrix_of
// no counterpart: linear_cross_entropy, low_rank_linear
// no counterpart: fusion_enabled, set_fusion, measure_flops, measure_peak, measure_reading
