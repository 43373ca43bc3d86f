// A plugin in Go through the same header (cgo): pods go only to nodes whose name has the prefix in their label
// "prefix", preferably to nodes with short names.
package main

/*
#include "module.h"
*/
import "C"

import (
	"strings"
	"unsafe"
)

func text(s C.struct_berth_str) string {
	return C.GoStringN(s.ptr, C.int(s.len))
}

var labelPrefix = C.CString("prefix")

//export goFilter
func goFilter(cycle *C.struct_berth_cycle, node C.struct_berth_node_view) C.struct_berth_status {
	want := C.berth_object_label(unsafe.Pointer(C.berth_cycle_pod(cycle)), labelPrefix)
	if want.ptr == nil || strings.HasPrefix(text(C.berth_node_name(node)), text(want)) {
		return C.berth_verdict(C.BERTH_SUCCESS)
	}
	reason := "node(s) had another prefix than " + text(want)
	c := C.CString(reason)
	defer C.free(unsafe.Pointer(c))
	return C.berth_reason(C.berth_cycle_arena(cycle), C.BERTH_UNRESOLVABLE, C.berth_text(c))
}

//export goScore
func goScore(cycle *C.struct_berth_cycle, node C.struct_berth_node_view, ret *C.int64_t) C.struct_berth_status {
	*ret = C.int64_t(max(0, 100-10*len(text(C.berth_node_name(node)))))
	return C.berth_verdict(C.BERTH_SUCCESS)
}

func main() {}
