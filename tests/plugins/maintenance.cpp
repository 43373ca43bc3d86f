// maintenance.cpp: a plugin in C++20 through the same header: no pods on nodes that are being serviced.
#include <berth/plugin.h>

#include <map>
#include <stdexcept>
#include <string>

namespace {

struct Args {
    berth_str label;
    int64_t bonus;
};

const berth_field fields[] = {
    BERTH_FIELD("label", BERTH_STRING, Args, label),
    BERTH_FIELD("bonus", BERTH_INT, Args, bonus),
    {},
};
const Args defaults = { { "maintenance", 11 }, 0 };

class Maintenance {
public:
    explicit Maintenance(const Args &args) : label_(args.label.ptr, args.label.len), bonus_(args.bonus)
    {
        if (bonus_ < 0 || bonus_ > BERTH_SCORE_MAX)
            throw std::invalid_argument("bonus is not between 0 and 100");
    }

    berth_status filter(berth_node_view node) const
    {
        if (berth_node_label(node, label_.c_str()).ptr)
            return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) were under maintenance");
        return BERTH_OK;
    }

    int64_t score(berth_node_view node)
    {
        berth_str name = berth_node_name(node);
        return std::string(name.ptr, name.len).ends_with("-new") ? bonus_ : 0;
    }

private:
    std::string label_;
    int64_t bonus_;
};

// An exception must not leave the plugin.
int init(const berth_env *env, void **ret_self, berth_error *err)
{
    try {
        *ret_self = new Maintenance(*static_cast<const Args *>(env->args));
        return 0;
    } catch (const std::exception &e) {
        return berth_fail(err, "%s", e.what());
    }
}

Maintenance *self(berth_cycle *cycle)
{
    return static_cast<Maintenance *>(berth_cycle_self(cycle));
}

const berth_plugin plugin = {
    .name = "Maintenance",
    .doc = "Keeps pods off nodes that are being serviced.",
    .args = fields,
    .args_size = sizeof(Args),
    .args_defaults = &defaults,
    .init = init,
    .release = [](void *own) { delete static_cast<Maintenance *>(own); },
    .filter = [](berth_cycle *cycle, berth_node_view node) { return self(cycle)->filter(node); },
    .score =
        [](berth_cycle *cycle, berth_node_view node, int64_t *ret) {
            *ret = self(cycle)->score(node);
            return BERTH_OK;
        },
};

} // namespace

BERTH_PLUGINS(&plugin)
