/* bad.c: what can go wrong with a shared object, by what is defined:
 *   CRASH_LOAD   crashes while it is loaded      CRASH_INIT  crashes in init()     EXIT_INIT   ends the process there
 *   OLD_ABI      another version of the ABI      NO_MODULE   no berth_module       UNDEFINED   needs what nobody has
 * With none of them it is a good plugin. */
#include <berth/plugin.h>

#include <stdlib.h>

#ifdef CRASH_LOAD
__attribute__((constructor)) static void crash(void)
{
    abort();
}
#endif

#ifdef UNDEFINED
void nobody_has_this(void);
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
#ifdef UNDEFINED
    nobody_has_this();
#endif
    return 0;
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    (void)cycle, (void)node;
    return BERTH_OK;
}

static const struct berth_plugin bad = { .name = "Bad", .init = init, .filter = filter };

#ifdef NO_MODULE
extern const struct berth_plugin *unused;
const struct berth_plugin *unused = &bad;
#elif defined(OLD_ABI)
const struct berth_host *berth_host_;
static const struct berth_plugin *const plugins[] = { &bad };
const struct berth_module berth_module = {
    99, sizeof(berth_module), sizeof(bad), sizeof(struct berth_host), &berth_host_, plugins, 1
};
#else
BERTH_PLUGINS(&bad)
#endif
