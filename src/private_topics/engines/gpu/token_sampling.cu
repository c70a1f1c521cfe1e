// Gibbs sampling of topic assignments inside each document, as inference/token_sampling.py describes it; one thread a
// document, all topics of a word weighed at every draw. `counted` (words × topics) counts the sweeps after the burn-in.

typedef long long integer;

#ifndef TOPICS
#define TOPICS 1
#define BURN_IN 1
#define SAMPLES 1
#endif
#define PADDED ((TOPICS + 3) / 4 * 4)

#if TOPICS <= 256
typedef unsigned char number;
#else
typedef unsigned short number;
#endif

static __device__ __forceinline__ unsigned long long seed_state(unsigned long long seed, unsigned long long document)
{
    unsigned long long state = seed * 0x9E3779B97F4A7C15ull + (document + 1) * 0x94D049BB133111EBull;
    state ^= state >> 30;
    state *= 0xBF58476D1CE4E5B9ull;
    state ^= state >> 27;
    state *= 0x94D049BB133111EBull;
    state ^= state >> 31;
    return state | 1ull;
}

static __device__ __forceinline__ unsigned long long next_state(unsigned long long state)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^ (state << 17);
}

// One row of the topics, four numbers at a time; the rows are padded with zeros to whole groups.
static __device__ __forceinline__ void load_topic(const float4* row, float topic[PADDED])
{
#pragma unroll
    for (int b = 0; b < PADDED / 4; ++b) {
        const float4 four = row[b];
        topic[4 * b] = four.x;
        topic[4 * b + 1] = four.y;
        topic[4 * b + 2] = four.z;
        topic[4 * b + 3] = four.w;
    }
}

extern "C" __global__ void sample_documents(int n, const int* documents, const integer* start, const int* words,
                                            const int* counts, const integer* token_start, const float4* topics,
                                            float prior, float warm_prior, unsigned long long seed, number* topic_of,
                                            number* kept, unsigned* counted)
{
    const int slot = blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= n) return;
    const int document = documents[slot];
    const integer length = token_start[slot + 1] - token_start[slot];
    number* own = topic_of + token_start[slot];
    number* samples = kept + token_start[slot] * SAMPLES;
    float count[TOPICS], topic[PADDED], running[TOPICS];
#pragma unroll
    for (int a = 0; a < TOPICS; ++a) count[a] = 0.0f;
    unsigned long long state = seed_state(seed, document);
    for (int sweep = 0; sweep < BURN_IN + SAMPLES; ++sweep) {
        const float warmth = fmaxf(0.0f, 1.0f - static_cast<float>(sweep) / max(1, BURN_IN));
        const float smoothing = prior + (warm_prior - prior) * warmth;
        integer p = start[document] - 1;
        int left = 0;  // tokens of the entry at `p`; one flat loop over tokens keeps the threads of a warp together
        for (integer token = 0; token < length; ++token, --left) {
            if (left == 0) {
                left = counts[++p];
                load_topic(topics + static_cast<integer>(words[p]) * (PADDED / 4), topic);
            }
            const int old = sweep > 0 ? static_cast<int>(own[token]) : TOPICS;
            float total = 0.0f;
#pragma unroll
            for (int a = 0; a < TOPICS; ++a) {
                count[a] -= a == old ? 1.0f : 0.0f;
                total = fmaf(count[a] + smoothing, topic[a], total);
                running[a] = total;
            }
            state = next_state(state);
            const float point = static_cast<float>(state >> 40) * (1.0f / 16777216.0f) * total;
            int chosen = 0;
#pragma unroll
            for (int a = 0; a < TOPICS - 1; ++a) chosen += running[a] <= point;
#pragma unroll
            for (int a = 0; a < TOPICS; ++a) count[a] += a == chosen ? 1.0f : 0.0f;
            own[token] = static_cast<number>(chosen);
            if (sweep >= BURN_IN) samples[token * SAMPLES + sweep - BURN_IN] = static_cast<number>(chosen);
        }
    }
    // Each entry's assignments together: one addition for each topic it has, not one for each sample.
    unsigned tally[TOPICS];
#pragma unroll
    for (int a = 0; a < TOPICS; ++a) tally[a] = 0;
    integer p = start[document];
    int left = length > 0 ? counts[p] : 0;
    for (integer token = 0; token < length; ++token) {
#pragma unroll
        for (int s = 0; s < SAMPLES; ++s) {
            const int chosen = samples[token * SAMPLES + s];
#pragma unroll
            for (int a = 0; a < TOPICS; ++a) tally[a] += a == chosen;
        }
        if (--left == 0) {
            unsigned* row = counted + static_cast<integer>(words[p]) * TOPICS;
#pragma unroll
            for (int a = 0; a < TOPICS; ++a) {
                if (tally[a]) atomicAdd(row + a, tally[a]);
                tally[a] = 0;
            }
            if (token + 1 < length) left = counts[++p];
        }
    }
}
