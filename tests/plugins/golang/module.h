/* module.h: what plugin.go sees of berth. */
#include <berth/plugin.h>
#include <stdlib.h>
