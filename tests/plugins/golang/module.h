/* module.h: berth's header for plugin.go. */
#include <berth/plugin.h>
#include <stdlib.h>
