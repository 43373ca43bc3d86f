/* cpu_profile.h: samples as a profile that `go tool pprof` reads: the message Profile of its profile.proto, not
 * compressed, with the names of functions where they are known. */
#ifndef PPROF_CPU_PROFILE_H
#define PPROF_CPU_PROFILE_H

#include "pprof/sampler.h"

/* began_ns since 1970. */
void cpu_profile_write(const struct samples *samples, int64_t began_ns, int64_t took_ns, struct strbuf *out);

#endif
