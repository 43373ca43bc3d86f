// thrower.cpp: lets an exception out, which ends the process; whose it was is said.
#include <berth/plugin.h>

#include <stdexcept>

static berth_status filter(berth_cycle *, berth_node_view)
{
    throw std::runtime_error("out of patience");
}

static const berth_plugin thrower = { .name = "Thrower", .filter = filter };

BERTH_PLUGINS(&thrower)
