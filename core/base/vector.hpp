// Loops that are worth the processor's widest vectors although the build is for any x86-64.
#pragma once

// Compiles a function twice and picks the AVX2 version where the processor has it. The resolvers run before sanitizers
// are set up, which breaks them: sanitized builds take the plain version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define ISTHMUS_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define ISTHMUS_VECTOR_CLONES
#endif
