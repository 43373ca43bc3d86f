/* Any text as YAML gives documents and objects, or an error. */
#include "fuzz/documents.h"
#include "fuzz/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_documents(data, size, true, fuzz_objects);
    return 0;
}
