/* bad.c: a shared object with one fault, selected by a macro:
 *   CRASH_LOAD  crashes while it is loaded      LOOP_LOAD  hangs while it is loaded
 *   CRASH_INIT  crashes in init()               LOOP_INIT  hangs in init()
 *   EXIT_INIT   ends the process in init()
 *   FAIL_INIT   init() fails                    SHY_INIT   init() fails without a message
 *   OLD_ABI     another version of the ABI      NEWER      built against a newer header
 *   NO_MODULE   no berth_module                 UNDEFINED  needs an undefined symbol
 *   TWICE       two plugins of one name         BUILT_IN   the name of a built-in plugin
 *   NAMELESS    a plugin without a name
 *   NO_SLOT     a plugin without callbacks      NO_PLUGIN  no plugin
 * Without a macro it is a valid plugin. */
#include <berth/plugin.h>

#include <stdlib.h>
#include <unistd.h>

#ifdef CRASH_LOAD
__attribute__((constructor)) static void crash(void)
{
    abort();
}
#endif

#ifdef LOOP_LOAD
__attribute__((constructor)) static void loop(void)
{
    while (true)
        sleep(1);
}
#endif

#ifdef UNDEFINED
void undefined_function(void);
#endif

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    (void)env, (void)ret_self, (void)err;
#ifdef CRASH_INIT
    *(volatile int *)8 = 1;
#endif
#ifdef EXIT_INIT
    exit(3);
#endif
#ifdef LOOP_INIT
    while (true)
        sleep(1);
#endif
#ifdef FAIL_INIT
    return berth_fail(err, "there is no %s", "coffee");
#endif
#ifdef SHY_INIT
    return -1;
#endif
#ifdef UNDEFINED
    undefined_function();
#endif
    return 0;
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    (void)cycle, (void)node;
    return BERTH_OK;
}

#ifdef BUILT_IN
#define NAME "NodeName"
#elif defined(NAMELESS)
#define NAME ""
#else
#define NAME "Bad"
#endif
#ifdef NO_SLOT
#define FILTER NULL
#else
#define FILTER filter
#endif
extern const struct berth_plugin bad;
const struct berth_plugin bad = { .name = NAME, .init = init, .filter = FILTER };
extern const void *const unused_filter; /* without a slot for it */
const void *const unused_filter = (const void *)filter;

#ifdef NO_MODULE
#elif defined(OLD_ABI) || defined(NEWER) || defined(NO_PLUGIN)
const struct berth_host *berth_host_;
static const struct berth_plugin *const plugins[] = { &bad };
const struct berth_module berth_module = {
#ifdef OLD_ABI
    .abi = 99,
#else
    .abi = BERTH_ABI,
#endif
    .size = sizeof(berth_module),
    .plugin_size = sizeof(bad),
#ifdef NEWER
    .host_size = sizeof(struct berth_host) + sizeof(void *),
#else
    .host_size = sizeof(struct berth_host),
#endif
    .host = &berth_host_,
    .plugins = plugins,
#ifndef NO_PLUGIN
    .plugins_len = 1,
#endif
};
#elif defined(TWICE)
BERTH_PLUGINS(&bad, &bad)
#else
BERTH_PLUGINS(&bad)
#endif
