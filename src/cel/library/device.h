/* device.h: does a device match a selector?
 *
 * A device is given as two tables of entries, and becomes a value once: the maps that an expression sees
 * (device.attributes["domain"].id). A domain that a device does not have is an empty map, as in the reference:
 * device.attributes["other"].id says "no such key: id". */
#ifndef CEL_LIBRARY_DEVICE_H
#define CEL_LIBRARY_DEVICE_H

#include "cel/cel.h"

struct cel_device_entry {
    struct str domain, id;
    /* Of an attribute: bool, int, string, semver, or a list of one of them; of a capacity: quantity. */
    struct cel_value value;
};

struct cel_device {
    struct str driver;
    bool allow_multiple_allocations;
    const struct cel_device_entry *attributes, *capacity;
    size_t attributes_len, capacity_len;
};

/* "domain/id" in two; without a domain it is the driver's. */
void cel_device_name(struct str name, struct str driver, struct str *ret_domain, struct str *ret_id);

/* The value of the variable `device`, in the arena. */
struct cel_value cel_device_value(const struct cel_device *device, struct arena *arena);
/* 0 and the answer; otherwise as cel_eval(), and -EINVAL as well if the result is no bool. `scratch` holds what is
 * needed meanwhile; the caller resets it. */
int cel_device_matches(const struct cel_program *program, const struct cel_value *device,
                       struct arena *scratch, bool *ret, struct error *err);

#endif
