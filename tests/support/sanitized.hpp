// SPDX-License-Identifier: Apache-2.0
/// Whether AddressSanitizer or ThreadSanitizer checks this build, in the words of both compilers.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define HOCKET_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define HOCKET_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOCKET_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define HOCKET_THREAD_SANITIZER 1
#endif
#endif
