// The sums of sums/unit_sums.py on a GPU, operation by operation as there, so that every integer is the same.
//
// Compiled without fusing (--fmad=false): a multiply-add is fused only where `fma` stands, as in inference/lanes.py.
// All totals are 64-bit integers; atomic additions of integers give one result in any order.
// TOPICS is a compile-time constant of `topic_statistic` alone.

typedef long long integer;

#ifndef TOPICS
#define TOPICS 1
#endif
#define LANES 4
#define PER_LANE ((TOPICS + LANES - 1) / LANES)
#define WHOLE_WARP 0xffffffffu
#define SHORTEST 3
#define LARGEST_REST 2147483647ll
#define TINY 1e-280
#define ROUNDS 6

static __device__ __forceinline__ void add(integer* cell, integer value)
{
    atomicAdd(reinterpret_cast<unsigned long long*>(cell), static_cast<unsigned long long>(value));
}

static __device__ __forceinline__ integer whole_steps(double value, double step)
{
    return static_cast<integer>(trunc(value / step));
}

// What is added is truncated, not its weight: a long document's weight may be far below a step.
static __device__ __forceinline__ void add_whole(integer* cell, double value) { add(cell, static_cast<integer>(value)); }

static __device__ __forceinline__ double real_length(integer length)
{
    return static_cast<double>(length < SHORTEST ? SHORTEST : length);
}

static __device__ __forceinline__ int thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" {

__global__ void row_lengths(int n, const integer* start, const int* counts, integer* lengths)
{
    const int document = thread_number();
    if (document >= n) return;
    integer total = 0;
    for (integer p = start[document]; p < start[document + 1]; ++p) total += counts[p];
    lengths[document] = total;
}

// -- restriction to the words of the spectral stage ------------------------------------------------------------------

// With a rest word (not negative), it stands for all words without a rank, at most LARGEST_REST times.
__global__ void kept_sizes(int n, const integer* start, const int* words, const int* rank, int rest_word,
                           integer* sizes)
{
    const int document = thread_number();
    if (document >= n) return;
    integer size = 0;
    for (integer p = start[document]; p < start[document + 1]; ++p) size += rank[words[p]] >= 0;
    sizes[document] = size + (rest_word >= 0 && size < start[document + 1] - start[document]);
}

__global__ void keep(int n, const integer* start, const int* words, const int* counts, const int* rank,
                     int rest_word, const integer* new_start, int* new_words, int* new_counts)
{
    const int document = thread_number();
    if (document >= n) return;
    integer at = new_start[document], rest = 0;
    for (integer p = start[document]; p < start[document + 1]; ++p) {
        const int place = rank[words[p]];
        if (place >= 0) {
            new_words[at] = place;
            new_counts[at++] = counts[p];
        } else {
            rest += counts[p];
        }
    }
    if (rest_word >= 0 && rest > 0) {
        new_words[at] = rest_word;
        new_counts[at] = static_cast<int>(rest < LARGEST_REST ? rest : LARGEST_REST);
    }
}

// -- norms and histograms --------------------------------------------------------------------------------------------

__global__ void norm_weights(int n, const int* order, const integer* start, const int* counts, const integer* lengths,
                             const double* share, double safety, double step, double* weights)
{
    if (thread_number() >= n) return;
    const int document = order[thread_number()];
    double squares = 0.0;
    if (lengths[document] >= SHORTEST)
        for (integer p = start[document]; p < start[document + 1]; ++p)
            squares += static_cast<double>(counts[p]) * static_cast<double>(counts[p]);
    const double norm = sqrt(squares);
    weights[document] = norm > 0.0 ? share[document] * safety / norm / step : 0.0;
}

__global__ void add_counts(int n, const int* order, const integer* start, const int* words, const int* counts,
                           const double* weights, integer* total)
{
    if (thread_number() >= n) return;
    const int document = order[thread_number()];
    const double weight = weights[document];
    if (!(weight > 0.0)) return;
    for (integer p = start[document]; p < start[document + 1]; ++p) add_whole(total + words[p], weight * counts[p]);
}

__global__ void pair_norms(int n, const int* order, const integer* start, const int* counts, const integer* lengths,
                           double* norms)
{
    if (thread_number() >= n) return;
    const int document = order[thread_number()];
    norms[document] = 0.0;
    if (lengths[document] < SHORTEST) return;
    double squares = 0.0, repeats = 0.0;
    for (integer p = start[document]; p < start[document + 1]; ++p) {
        const double c = counts[p];
        squares += c * c;
        repeats += c * c * (1.0 - 2.0 * c);
    }
    const double length = static_cast<double>(lengths[document]);
    const double inside = squares * squares + repeats;
    norms[document] = sqrt(inside > 0.0 ? inside : 0.0) / (length * (length - 1.0));
}

__global__ void deviation_norms(int n, const int* order, const integer* start, const int* words, const int* counts,
                                const integer* lengths, int n_words, const double* centre, double* norms)
{
    if (thread_number() >= n) return;
    const int document = order[thread_number()];
    norms[document] = 0.0;
    if (lengths[document] < SHORTEST) return;
    double square = 0.0;
    for (int w = 0; w < n_words; ++w) square += centre[w] * centre[w];
    const double length = static_cast<double>(lengths[document]);
    double deviation = square, spread = square;
    for (integer p = start[document]; p < start[document + 1]; ++p) {
        const double f = static_cast<double>(counts[p]) / length, c = centre[words[p]];
        deviation += (f - c) * (f - c) - c * c;
        spread += f * (1.0 - 2.0 * c);
    }
    deviation = deviation > 0.0 ? deviation : 0.0;
    spread = spread / length;
    norms[document] = sqrt(deviation * deviation + spread * spread) * (length / (length - 1.0));
}

__global__ void add_norms(int n, const double* norms, const double* share, double step, int edges, const double* edge,
                          integer* total)
{
    const int document = thread_number();
    if (document >= n || !(norms[document] > 0.0)) return;
    int low = 0, high = edges;  // the number of edges not above the norm
    while (low < high) {
        const int middle = (low + high) / 2;
        if (edge[middle] <= norms[document]) low = middle + 1; else high = middle;
    }
    add(total + low, static_cast<integer>(floor(share[document] / step)));
}

// -- second moment ---------------------------------------------------------------------------------------------------

__global__ void clip_pairs(int n, const integer* lengths, const double* share, const double* norms, double safety,
                           double clip, double step, double factor_step, double* weights, integer* factors)
{
    const int document = thread_number();
    if (document >= n) return;
    weights[document] = 0.0;
    if (!(norms[document] > 0.0)) return;
    const double ratio = clip * safety / norms[document];
    const double factor = ratio < 1.0 ? ratio : 1.0;
    const double length = real_length(lengths[document]);
    weights[document] = share[document] * factor / (length * (length - 1.0)) / step;
    add(factors, whole_steps(share[document] * factor, factor_step));
}

// The upper triangle of Σ weight (c c' - diag c); a warp a document.
__global__ void add_pairs(int n, const int* order, const integer* start, const int* words, const int* counts,
                          const double* weights, integer n_words, integer* total)
{
    const int warp = thread_number() / 32, lane = threadIdx.x % 32;
    if (warp >= n) return;
    const int document = order[warp];
    const double weight = weights[document];
    const integer last = start[document + 1];
    if (!(weight > 0.0)) return;
    for (integer p = start[document]; p < last; ++p) {
        integer* row = total + words[p] * n_words;
        const double scaled = weight * counts[p];
        if (lane == 0) add_whole(row + words[p], scaled * (counts[p] - 1));
        for (integer r = p + 1 + lane; r < last; r += 32) add_whole(row + words[r], scaled * counts[r]);
    }
}

// -- moments inside a frame ------------------------------------------------------------------------------------------

__global__ void project(int n, const int* order, const integer* start, const int* words, const int* counts,
                        const double* frame, int rank, double* projected)
{
    const int warp = thread_number() / 32, lane = threadIdx.x % 32;
    if (warp >= n) return;
    const int document = order[warp];
    for (int a = lane; a < rank; a += 32) {
        double sum = 0.0;
        for (integer p = start[document]; p < start[document + 1]; ++p)
            sum += counts[p] * frame[static_cast<integer>(words[p]) * rank + a];
        projected[static_cast<integer>(document) * rank + a] = sum;
    }
}

__global__ void frame_bounds(int n, const int* order, const integer* start, const int* words, const int* counts,
                             const integer* lengths, const double* square, const double* cube,
                             const double* projected, int rank, double* second_bound, double* third_bound, bool* used)
{
    if (thread_number() >= n) return;
    const int document = order[thread_number()];
    double total = 0.0, second = 0.0, third = 0.0, norm = 0.0;
    if (lengths[document] >= SHORTEST) {
        const double* y = projected + static_cast<integer>(document) * rank;
        for (int a = 0; a < rank; ++a) total += y[a] * y[a];
        norm = sqrt(total);
        for (integer p = start[document]; p < start[document + 1]; ++p) {
            second += counts[p] * square[words[p]];
            third += counts[p] * cube[words[p]];
        }
    }
    const double length = real_length(lengths[document]);
    const double pairs = length * (length - 1.0);
    const double triples = pairs * (length - 2.0);
    const double norm_square = norm * norm;
    second_bound[document] = sqrt(norm_square * norm_square + second * second) / pairs;
    third_bound[document] = (norm * norm * norm + 3.0 * norm * second + 2.0 * third) / triples;
    used[document] = norm + second > 0.0;
}

static __device__ double cube_root(double value)
{
    if (!(value > 0.0)) return 0.0;
    int exponent;
    const double fraction = frexp(value, &exponent);
    const int third = (exponent + 3072) / 3 - 1024;
    const double x = ldexp(fraction, exponent - 3 * third);
    double y = 0.65 + 0.25 * x;
    for (int step = 0; step < 6; ++step) y = (2.0 * y + x / (y * y)) / 3.0;
    return ldexp(y, third);
}

// Clip factors and weights of each document; the rows whose products are the square and the cube.
__global__ void clip_inside_frame(int n, const integer* lengths, const double* share, const double* second_bound,
                                  const double* third_bound, const bool* used, const double* projected, int rank,
                                  double safety, double smallest, double second_clip, double third_clip,
                                  double square_step, double cube_step, double row_step, double mass_step,
                                  double factor_step, double* for_square, double* for_cube, double* rows,
                                  double* mass, integer* factors)
{
    const int document = thread_number();
    if (document >= n) return;
    const double second_ratio = second_clip * safety / fmax(second_bound[document], smallest);
    const double third_ratio = third_clip * safety / fmax(third_bound[document], smallest);
    const double second = used[document] ? (second_ratio < 1.0 ? second_ratio : 1.0) : 0.0;
    const double third = used[document] ? (third_ratio < 1.0 ? third_ratio : 1.0) : 0.0;
    const double length = real_length(lengths[document]);
    const double pairs = length * (length - 1.0);
    const double triples = pairs * (length - 2.0);
    const double second_weight = share[document] * second / pairs;
    const double third_weight = share[document] * third / triples;
    const double root = sqrt(second_weight * safety), third_root = cube_root(third_weight * safety);
    add(factors, whole_steps(share[document] * second, factor_step));
    add(factors + 1, whole_steps(share[document] * third, factor_step));
    mass[document] = second_weight / mass_step;
    mass[n + document] = third_weight / mass_step;
    for (int a = 0; a < rank; ++a) {
        const integer at = static_cast<integer>(document) * rank + a;
        for_square[at] = trunc(projected[at] * root / square_step);
        for_cube[at] = trunc(projected[at] * third_root / cube_step);
        rows[at] = projected[at] * third_weight / row_step;
    }
}

__global__ void products_of_pairs(integer n, int rank, const double* rows, double* products)
{
    const integer document = blockIdx.x;
    const double* y = rows + document * rank;
    double* out = products + document * (rank * (rank + 1) / 2);
    for (int b = threadIdx.y; b < rank; b += blockDim.y)
        for (int c = b + threadIdx.x; c < rank; c += blockDim.x)
            out[b * rank - b * (b - 1) / 2 + c - b] = y[b] * y[c];
}

// cross[word] += Σ count · rows[document]; a warp a document.
__global__ void add_rows(int n, const int* order, const integer* start, const int* words, const int* counts,
                         const double* rows, int rank, integer* cross)
{
    const int warp = thread_number() / 32, lane = threadIdx.x % 32;
    if (warp >= n) return;
    const int document = order[warp];
    const double* y = rows + static_cast<integer>(document) * rank;
    for (integer p = start[document]; p < start[document + 1]; ++p) {
        const integer word = words[p];
        for (int a = lane; a < rank; a += 32) add_whole(cross + word * rank + a, counts[p] * y[a]);
    }
}

// -- second moment between all words and some directions -------------------------------------------------------------

// Weights of `Σ s·phi2 F`, clipped by its exact norm.
__global__ void clip_cross(int n, const int* order, const integer* start, const int* words, const int* counts,
                           const integer* lengths, const double* share, const double* frame, const double* projected,
                           int rank, double safety, double clip, double step, double* weights)
{
    if (thread_number() >= n) return;
    const int document = order[thread_number()];
    weights[document] = 0.0;
    if (lengths[document] < SHORTEST) return;
    const double* y = projected + static_cast<integer>(document) * rank;
    double total = 0.0;
    for (integer p = start[document]; p < start[document + 1]; ++p) {
        const double c = counts[p];
        const double* f = frame + static_cast<integer>(words[p]) * rank;
        double squares = 0.0;
        for (int a = 0; a < rank; ++a) squares += (y[a] - f[a]) * (y[a] - f[a]);
        total += c * c * squares;
    }
    const double length = static_cast<double>(lengths[document]);
    const double norm = sqrt(total) / (length * (length - 1.0));
    if (!(norm > 0.0)) return;
    const double ratio = clip * safety / norm;
    const double factor = ratio < 1.0 ? ratio : 1.0;
    weights[document] = share[document] * factor * (1.0 / (length * (length - 1.0))) / step;
}

__global__ void add_cross(int n, const int* order, const integer* start, const int* words, const int* counts,
                          const double* weights, const double* frame, const double* projected, int rank,
                          integer* total)
{
    const int warp = thread_number() / 32, lane = threadIdx.x % 32;
    if (warp >= n) return;
    const int document = order[warp];
    const double weight = weights[document];
    if (!(weight > 0.0)) return;
    const double* y = projected + static_cast<integer>(document) * rank;
    for (integer p = start[document]; p < start[document + 1]; ++p) {
        const integer row = static_cast<integer>(words[p]) * rank;
        const double scaled = weight * counts[p];
        for (int a = lane; a < rank; a += 32) add_whole(total + row + a, scaled * (y[a] - frame[row + a]));
    }
}

// -- refinement ------------------------------------------------------------------------------------------------------

static __device__ __forceinline__ double exp_digamma(double x)
{
    const double x1 = x + 1.0, x2 = x + 2.0, x3 = x + 3.0, x4 = x + 4.0;
    const double x01 = x * x1, x23 = x2 * x3, x34 = x3 * x4;
    const double product = x01 * x23 * x4;
    const double reciprocals =
        (x1 * x2 * x34 + x * x2 * x34 + x01 * x34 + x01 * x2 * x4 + x01 * x23) / product;
    const double z = 1.0 / (x + 5.0);
    const double series = x + 4.5 + z * (1.0 / 24.0 + z * (1.0 / 48.0 + z * (23.0 / 5760.0)));
    const double t = -(reciprocals < 100.0 ? reciprocals : 100.0) * (1.0 / 128.0);
    const double high =
        1.0 / 24.0 + t * (1.0 / 120.0 + t * (1.0 / 720.0 + t * (1.0 / 5040.0 + t * (1.0 / 40320.0))));
    double p = 1.0 + t * (1.0 + t * (0.5 + t * (1.0 / 6.0 + t * high)));
    p *= p; p *= p; p *= p; p *= p; p *= p; p *= p;
    return series * (p * p);
}

// (lane 0 + lane 1) + (lane 2 + lane 3) of each group of four threads, in all four.
static __device__ __forceinline__ double across(double value)
{
    value += __shfl_xor_sync(WHOLE_WARP, value, 1);
    return value + __shfl_xor_sync(WHOLE_WARP, value, 2);
}

static __device__ __forceinline__ void load_topic(const double* topics, integer word, bool active, int lane,
                                                  double topic[PER_LANE])
{
#pragma unroll
    for (int b = 0; b < PER_LANE; ++b)
        topic[b] = active && lane + LANES * b < TOPICS ? topics[word * TOPICS + lane + LANES * b] : 0.0;
}

// Four threads a document, thread j the topics j, j + 4, …; the documents of a warp are of nearly one size.
__global__ void topic_statistic(int n, const int* order, const integer* start, const int* words, const int* counts,
                                const integer* lengths, const double* share, const double* topics,
                                const double* word_weights, const double* prior, double safety, double step,
                                integer* total)
{
    const int slot = thread_number() / LANES, lane = threadIdx.x % LANES;
    const int document = slot < n ? order[slot] : 0;
    const integer first = start[document];
    const int size = slot < n ? static_cast<int>(start[document + 1] - first) : 0;
    const int longest = __reduce_max_sync(WHOLE_WARP, size);
    integer selected = 0;  // words of the document, of those that the topics are over
    for (int i = 0; i < size; ++i) selected += counts[first + i];
    const double length = static_cast<double>(selected);
    double e[PER_LANE], g[PER_LANE], own_prior[PER_LANE], topic[PER_LANE];
#pragma unroll
    for (int b = 0; b < PER_LANE; ++b) {
        const bool there = lane + LANES * b < TOPICS;
        own_prior[b] = there ? prior[lane + LANES * b] : 0.0;
        e[b] = there ? exp_digamma(own_prior[b] + length / TOPICS) : 0.0;
    }
    for (int round = 0; round < ROUNDS; ++round) {
#pragma unroll
        for (int b = 0; b < PER_LANE; ++b) g[b] = 0.0;
        for (int i = 0; i < longest; ++i) {
            const bool active = i < size;
            load_topic(topics, active ? words[first + i] : 0, active, lane, topic);
            double dot = 0.0;
#pragma unroll
            for (int b = 0; b < PER_LANE; ++b) dot = fma(e[b], topic[b], dot);
            dot = across(dot);
            const double scaled = active ? counts[first + i] / (dot + TINY) : 0.0;
#pragma unroll
            for (int b = 0; b < PER_LANE; ++b) g[b] = fma(scaled, topic[b], g[b]);
        }
#pragma unroll
        for (int b = 0; b < PER_LANE; ++b)
            if (lane + LANES * b < TOPICS) {
                g[b] = fma(e[b], g[b], own_prior[b]);
                const double pulled = exp_digamma(g[b]);
                const double ratio = round % 2 == 0 && round + 1 < ROUNDS ? pulled / e[b] : 1.0;
                e[b] = pulled * ratio * (round > 0 ? ratio : 1.0);
            }
    }
    double norm = 0.0;
    for (int i = 0; i < longest; ++i) {
        const bool active = i < size;
        const integer word = active ? words[first + i] : 0;
        load_topic(topics, word, active, lane, topic);
        double dot = 0.0, squares = 0.0;
#pragma unroll
        for (int b = 0; b < PER_LANE; ++b) {
            const double product = e[b] * topic[b];
            dot = fma(e[b], topic[b], dot);
            squares = fma(product, product, squares);
        }
        dot = across(dot);
        squares = across(squares);
        if (active && dot > 0.0) {
            const double ratio = word_weights[word] * counts[first + i] / dot;
            norm += ratio * ratio * squares;
        }
    }
    norm = sqrt(norm);
    const bool used = slot < n && norm > 0.0 && lengths[document] >= SHORTEST;
    const double weight = used ? share[document] * safety / norm / step : 0.0;
    for (int i = 0; i < longest; ++i) {
        const bool active = i < size;
        const integer word = active ? words[first + i] : 0;
        load_topic(topics, word, active, lane, topic);
        double dot = 0.0;
#pragma unroll
        for (int b = 0; b < PER_LANE; ++b) dot = fma(e[b], topic[b], dot);
        dot = across(dot);
        if (active && weight > 0.0 && dot > 0.0) {
            const double scaled = weight * (word_weights[word] * counts[first + i]) / dot;
#pragma unroll
            for (int b = 0; b < PER_LANE; ++b)
                if (lane + LANES * b < TOPICS)
                    add(total + word * TOPICS + lane + LANES * b, static_cast<integer>(scaled * e[b] * topic[b]));
        }
    }
}

}  // extern "C"
